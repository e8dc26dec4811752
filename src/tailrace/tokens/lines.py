"""The lines that keys are kept in: those of resume tokens, and access keys. Pure."""

import re
from collections.abc import Iterator


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Return the lines that hold a key, each with its number; empty ones and those that begin with ``#`` are skipped.

    A semicolon ends a line too, for environments that can not hold several.
    """
    for number, line in enumerate(re.split(r"[\n;]", text), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line
