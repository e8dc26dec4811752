"""``tailrace runs holds place``, ``lift`` and ``list``: for backups, so that no payload is deleted meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from tailrace import units
from tailrace.cli import output
from tailrace.cli.exits import Code, Stop
from tailrace.cli.options import Json
from tailrace.cli.runs.options import HERE, Namespace, Store
from tailrace.cli.store import default_url
from tailrace.workflow.addressing import namespace_of
from tailrace.workflow.documents import instant
from tailrace.workflow.opening import checked_options, is_remote, open_embedded
from tailrace.workflow.payloads.holding import Holds
from tailrace.workflow.store.holds import Hold

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the hold.", show_default=False)]
Lasting = Annotated[float, typer.Option("--lasting", parser=units.seconds, metavar="DURATION", show_default=False,
    help="After this it ends by itself: longer than the backup takes.")]  # fmt: skip
Patience = Annotated[float, typer.Option("--patience", parser=units.seconds, metavar="DURATION",
    help="How long to wait for deletions that have begun already.")]  # fmt: skip

holds = typer.Typer(
    no_args_is_help=True, help="Holds on the payloads of a namespace: while there is one, no object is deleted."
)


@holds.command()
def place(
    name: Name,
    lasting: Lasting,
    patience: Patience = "60",  # type: ignore[assignment]
    namespace: Namespace = HERE,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Place a hold, or have it begin anew. Once this ends, no object of the namespace is being deleted."""
    with _holds(store, namespace) as found:
        hold = found.place(namespace_of(namespace), name, lasting=lasting, patience=patience)
    _tell(hold, as_json)


@holds.command()
def lift(name: Name, namespace: Namespace = HERE, store: Store = None, as_json: Json = False) -> None:
    """End a hold. It is no error if there is none of that name, or no more."""
    with _holds(store, namespace) as found:
        found.lift(namespace_of(namespace), name)
    if as_json:
        output.json_line({"name": name, "lifted": True})
    else:
        output.line("lifted")


@holds.command("list")
def list_holds(namespace: Namespace = HERE, store: Store = None, as_json: Json = False) -> None:
    """Show the holds on a namespace, by name."""
    with _holds(store, namespace) as found:
        rows = found.on(namespace_of(namespace))
    for hold in rows:
        _tell(hold, as_json)
    if not rows:
        output.note("there is no hold")


@contextmanager
def _holds(store: str | None, namespace: str) -> Iterator[Holds]:
    url = store or default_url()
    if is_remote(url):
        raise Stop(Code.USAGE, "a hold is placed in the database, not over HTTP")
    service = open_embedded(url, checked_options(url, {"create": False if store else None}), namespace_of(namespace))
    try:
        yield service.holds
    finally:
        service.close()


def _tell(hold: Hold, as_json: bool) -> None:
    placed, ends = instant(hold.placed_at), instant(hold.ends_at)
    if as_json:
        output.json_line({"name": hold.name, "placed_at": placed, "ends_at": ends})
    else:
        output.line(f"{output.printable(hold.name)} until {ends}")
