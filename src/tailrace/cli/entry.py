"""What the console script calls. The only module of the command line that works without its extra."""

import sys

from tailrace.cli.exits import Code

_PARTS = ("typer", "rich", "platformdirs")


def main() -> None:
    """Run the command line with this process's arguments; never returns normally."""
    try:
        from tailrace.cli.app import app
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in _PARTS:
            raise
        sys.stderr.write(f"The command line needs the package {exc.name}: pip install 'tailrace[cli]'\n")
        sys.exit(Code.MISSING_EXTRA)
    app(prog_name="tailrace")
