"""The Typer application: every command by its name, and the exit codes under ``--help``."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tailrace.cli.access import access
from tailrace.cli.append import append
from tailrace.cli.checkpoint import checkpoint
from tailrace.cli.conformance import conformance
from tailrace.cli.delete import delete
from tailrace.cli.demo.command import demo
from tailrace.cli.describe import describe
from tailrace.cli.doctor import doctor
from tailrace.cli.ending import reported
from tailrace.cli.exits import MEANINGS
from tailrace.cli.keys import keys
from tailrace.cli.migrate import migrate
from tailrace.cli.runs import runs
from tailrace.cli.seal import seal
from tailrace.cli.serve import serve
from tailrace.cli.sweep import sweep
from tailrace.cli.tail import tail
from tailrace.cli.topics import topics
from tailrace.cli.versions import tailrace_version

_COMMANDS = (append, tail, checkpoint, seal, delete, topics, describe, sweep, migrate, doctor, conformance, demo, serve)


class Commands(TyperGroup):
    """Runs every command inside ``reported``: one place decides how any of them ends."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - the base class names a type of a private module
        """Run the command that was named."""
        with reported():
            return super().invoke(ctx)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tailrace {tailrace_version()}")
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Durable, resumable streams on the store you already run."""


def _build() -> typer.Typer:
    codes = "\n\n".join(f"{code:>3}  {meaning}" for code, meaning in MEANINGS.items())
    built = typer.Typer(
        cls=Commands,
        no_args_is_help=True,
        # A traceback that nobody foresaw is for a bug report; the framed one would show payloads in it.
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog=f"\b\nExit codes:\n{codes}".replace("\n\n", "\n"),
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    built.callback()(root)
    for command in _COMMANDS:
        built.command()(command)
    built.add_typer(keys, name="keys")
    built.add_typer(access, name="access")
    built.add_typer(runs, name="runs")
    return built


app = _build()
