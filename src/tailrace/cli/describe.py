"""``tailrace describe``: one topic."""

from tailrace.cli import facts, output
from tailrace.cli.exits import Code, Stop
from tailrace.cli.options import Json, Store, TopicName
from tailrace.cli.store import open_client
from tailrace.units import human_bytes


def describe(topic: TopicName, store: Store = None, as_json: Json = False) -> None:
    """Show what is known about one topic."""
    with open_client(store, writes=False) as client:
        name = client.topic(topic).name
        # Names are listed in byte order, so the shortest that starts like this is this one, if it exists.
        found = client.maintenance.topics(prefix=name, limit=1)
    if not found or found[0].name != name:
        raise Stop(Code.NO_SUCH_TOPIC, f"there is no topic {topic!r}")
    info = found[0]
    if as_json:
        output.json_line(facts.as_json(info))
        return
    rows = [
        ("topic", info.name),
        ("records", f"{info.records:,}"),
        ("bytes", human_bytes(info.bytes)),
        ("last append", facts.moment(info)),
        ("state", facts.state(info)),
    ]
    if info.seal is not None and info.seal.error is not None:
        rows.append(("reason", info.seal.error))
    for label, value in rows:
        output.line(f"{label:<12} {output.printable(value)}")
