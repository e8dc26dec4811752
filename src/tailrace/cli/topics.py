"""``tailrace topics``: what there is."""

from collections.abc import Iterator
from typing import Annotated

import typer

from tailrace.cli import facts, output
from tailrace.cli.options import Json, Store
from tailrace.cli.store import open_client
from tailrace.spi import Maintenance, TopicInfo
from tailrace.units import human_bytes

Prefix = Annotated[str, typer.Option("--prefix", metavar="TEXT", help="Only names that start so.", show_default=False)]

_PAGE = 1000


def topics(prefix: Prefix = "", store: Store = None, as_json: Json = False) -> None:
    """List the topics in byte order of their names."""
    with open_client(store, writes=False) as client:
        found = listed(client.maintenance, prefix)
        if as_json:
            for info in found:
                output.json_line(facts.as_json(info))
            return
        output.table(
            ("topic", "records", "bytes", "last append", "state"),
            (
                (info.name, f"{info.records:,}", human_bytes(info.bytes), facts.moment(info), facts.state(info))
                for info in found
            ),
        )


def listed(maintenance: Maintenance, prefix: str) -> Iterator[TopicInfo]:
    """Yield every topic whose name starts with ``prefix``, a page at a time."""
    after = ""
    while page := maintenance.topics(prefix=prefix, after=after, limit=_PAGE):
        yield from page
        after = page[-1].name
