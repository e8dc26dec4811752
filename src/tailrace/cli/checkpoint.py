"""``tailrace checkpoint``: the place where a topic ends now, to go on from later."""

from tailrace.cli import output
from tailrace.cli.options import Json, Store, TopicName
from tailrace.cli.store import open_client


def checkpoint(topic: TopicName, store: Store = None, as_json: Json = False) -> None:
    """Print a cursor for the current tail: take it, start the work, then `tail --from CURSOR`."""
    with open_client(store, writes=False) as client:
        cursor = client.topic(topic).checkpoint()
    if as_json:
        output.json_line({"topic": topic, "cursor": cursor})
    else:
        output.line(cursor)
