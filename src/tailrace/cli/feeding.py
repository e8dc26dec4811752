"""What appends are fed with: an argument, a file, or standard input."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from tailrace.cli import batches
from tailrace.cli.exits import Code, Stop


def payloads(
    source: batches.Source, payload: str | None, file: Path | None, by_line: bool | None, limit: int
) -> Iterator[list[bytes]]:
    """Yield what is to be appended, in batches: the payload, or what a file or standard input holds.

    Args:
        by_line: Whether each line is a payload; ``None``: of standard input, but not of a file.
        limit: Bytes allowed in one.

    Raises:
        PayloadTooLargeError: One is longer.
    """
    if payload is not None:
        # Arguments arrive decoded; this gives back the very bytes that were typed, UTF-8 or not.
        yield [os.fsencode(payload)]
    elif by_line if by_line is not None else file is None or str(file) == "-":
        yield from batches.lines(source, limit)
    else:
        yield [batches.whole(source, limit)]


@contextlib.contextmanager
def opened(file: Path | None, *, unused: bool) -> Iterator[batches.Source]:
    """Open a file, or standard input, for as long as it is read.

    Args:
        unused: Whether nothing will be read from it.

    Raises:
        Stop: The file can not be read.
    """
    if unused or file is None or str(file) == "-":
        yield cast("batches.Source", sys.stdin.buffer)
        return
    try:
        stream = file.open("rb")
    except OSError as exc:
        raise Stop(Code.USAGE, f"{file} can not be read: {exc.strerror}") from exc
    with stream:
        yield stream
