"""The ``tailrace`` command. Importing this needs nothing but the core; the rest comes with the extra ``cli``."""

from tailrace.cli.entry import main

__all__ = ["main"]
