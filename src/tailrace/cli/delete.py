"""``tailrace delete``: remove a topic with everything in it."""

import sys
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.exits import Code, Stop
from tailrace.cli.options import Json, Store, TopicName
from tailrace.cli.store import open_client

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def delete(topic: TopicName, yes: Yes = False, store: Store = None, as_json: Json = False) -> None:
    """Remove a topic with all its records. Cursors into it become unavailable."""
    with open_client(store, writes=False) as client:
        name = client.topic(topic).name
        if not yes:
            _ask(name)
        existed = client.maintenance.delete(name)
    if not existed:
        raise Stop(Code.NO_SUCH_TOPIC, f"there is no topic {topic!r}")
    if as_json:
        output.json_line({"topic": topic, "deleted": True})
    else:
        output.line("deleted")


def _ask(name: str) -> None:
    if not sys.stdin.isatty():
        raise Stop(Code.USAGE, "nobody is here to confirm: add --yes")
    if not typer.confirm(f"Delete {output.printable(name)!r} and all its records?", err=True):
        raise Stop(Code.USAGE, "nothing was deleted")
