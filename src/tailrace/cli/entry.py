"""What the console script calls. The only module of the command line that works without its extra."""

import importlib
import io
import sys

from tailrace.cli.exits import Code

_PARTS = ("typer", "rich", "platformdirs")


def main() -> None:
    """Run the command line with this process's arguments; never returns normally."""
    for part in _PARTS:
        try:
            importlib.import_module(part)
        except ModuleNotFoundError:
            sys.stderr.write(f"The command line needs the package {part}: pip install 'tailrace[cli]'\n")
            sys.exit(Code.MISSING_EXTRA)
    from tailrace.cli.app import app

    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that can not show a name still gets the rest of the line.
        sys.stdout.reconfigure(errors="backslashreplace")
    app(prog_name="tailrace")
