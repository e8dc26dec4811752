"""``tailrace seal``: end a topic for good."""

from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.options import Json, Store, TopicName
from tailrace.cli.store import open_client

Error = Annotated[
    str | None, typer.Option("--error", metavar="TEXT", help="End it as failed, for this reason.", show_default=False)
]


def seal(topic: TopicName, error: Error = None, store: Store = None, as_json: Json = False) -> None:
    """End a topic: no append succeeds afterwards, and readers end once they have everything.

    Can not be undone. The first seal stands; sealing again changes nothing.
    """
    with open_client(store, writes=True) as client:
        client.topic(topic).seal(error=error)
    if as_json:
        output.json_line({"topic": topic, "sealed": True})
    else:
        output.line("sealed")
