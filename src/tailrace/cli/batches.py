"""Cutting standard input or a file into batches of payloads, as soon as they are there.

A slow pipe gives batches of one: nobody waits for a batch to fill. A file gives large ones.
"""

from collections.abc import Iterator
from typing import Protocol

from tailrace import limits
from tailrace.errors import PayloadTooLargeError

CHUNK = 256 * 1024
"""Bytes asked for at once: it also bounds a batch, to about this much and one line."""


class Source(Protocol):
    """What bytes are read from, for example ``sys.stdin.buffer``."""

    def read1(self, size: int, /) -> bytes:
        """Return what is there, up to ``size`` bytes; wait only if nothing is; ``b""`` at the end."""
        ...

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes, waiting for all of them."""
        ...


def lines(source: Source, limit: int) -> Iterator[list[bytes]]:
    """Yield lines without their newline, an unfinished last one too, in batches.

    Args:
        source: Read until its end.
        limit: Bytes allowed in one line; nothing longer is ever held in memory.

    Raises:
        PayloadTooLargeError: A line is longer. What came before it has been yielded.
    """
    rest = b""
    while chunk := source.read1(CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        for start in range(0, len(whole), limits.MAX_APPEND_MANY):
            yield whole[start : start + limits.MAX_APPEND_MANY]
        if len(rest) > limit:
            raise PayloadTooLargeError(len(rest), limit, named="one line of the input")
    if rest:
        yield [rest]


def whole(source: Source, limit: int) -> bytes:
    """Return everything as one payload.

    Raises:
        PayloadTooLargeError: It is longer than ``limit`` bytes.
    """
    content = bytearray()
    while chunk := source.read(CHUNK):
        content += chunk
        if len(content) > limit:
            raise PayloadTooLargeError(len(content), limit, named="the whole input as one record")
    return bytes(content)
