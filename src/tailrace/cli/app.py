"""The Typer application: every command by its name, and the exit codes under ``--help``."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tailrace.cli.ending import reported
from tailrace.cli.exits import MEANINGS
from tailrace.cli.versions import tailrace_version

# The module of each command, which has it by its name.
_MODULES: Mapping[str, str] = {
    "append": "tailrace.cli.append",
    "tail": "tailrace.cli.tail",
    "checkpoint": "tailrace.cli.checkpoint",
    "seal": "tailrace.cli.seal",
    "delete": "tailrace.cli.delete",
    "topics": "tailrace.cli.topics",
    "describe": "tailrace.cli.describe",
    "sweep": "tailrace.cli.sweep",
    "migrate": "tailrace.cli.migrate",
    "doctor": "tailrace.cli.doctor",
    "conformance": "tailrace.cli.conformance",
    "demo": "tailrace.cli.demo.command",
    "serve": "tailrace.cli.serve",
    "keys": "tailrace.cli.keys",
    "access": "tailrace.cli.access",
    "runs": "tailrace.cli.runs",
}

# A traceback that nobody foresaw is for a bug report; the framed one would show payloads in it.
_PLAIN: Mapping[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": None}


class Commands(TyperGroup):
    """Runs every command inside ``reported``: one place decides how any of them ends.

    Imports a command once it is asked for: each start would pay for the imports of all of them.
    """

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - what Typer builds it with
        super().__init__(**{**attributes, "commands": _Imported()})

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - the base class names a type of a private module
        """Run the command that was named."""
        with reported():
            return super().invoke(ctx)


class _Imported(Mapping[str, Any]):
    """The commands by their names, in the order of the help."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a type of a private module
        command = getattr(import_module(_MODULES[name]), name)
        alone = typer.Typer(**_PLAIN)
        if isinstance(command, typer.Typer):
            alone.add_typer(command, name=name)
        else:
            alone.command(name)(command)
        return typer.main.get_group(alone).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


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
        **_PLAIN,
        epilog=f"\b\nExit codes:\n{codes}".replace("\n\n", "\n"),
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    built.callback()(root)
    return built


app = _build()
