"""Notes about a table, on standard error: in grey that there is nothing, in amber that it can not be read."""

import sys

from tailrace.cli import output


def grey(text: str) -> None:
    """Say that there is nothing to show."""
    _note(text, "bright_black")


def amber(text: str) -> None:
    """Say that what there is can not be shown."""
    _note(text, "yellow")


def _note(text: str, colour: str) -> None:
    if not sys.stderr.isatty():
        output.note(text)
        return
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True).print(Text(f"tailrace: {output.printable(text)}", style=colour))
