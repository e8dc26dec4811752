"""The undelivered records of one subscription: chunks in order, bounded by count and bytes. Pure."""

from collections import deque
from collections.abc import Sequence

from tailrace.engine.chunk import Chunk
from tailrace.records import DurableStreamRecord


class Buffer:
    """A bounded queue of chunks.

    It takes a chunk whole or not at all, and an empty one takes any chunk, so it never holds more than
    its bounds plus one page. A live reader mostly has none or one, which is kept without a queue around it.
    """

    __slots__ = ("_first", "_max_bytes", "_max_records", "_others", "records", "size")

    def __init__(self, max_records: int, max_bytes: int) -> None:
        self._first: Chunk | None = None
        self._others: deque[Chunk] | None = None
        self._max_records = max_records
        self._max_bytes = max_bytes
        self.records = 0
        self.size = 0

    def fits(self, chunk: Chunk) -> bool:
        """Return whether ``put`` may be called with this chunk."""
        return not self.records or (
            self.records + len(chunk.records) <= self._max_records and self.size + chunk.size <= self._max_bytes
        )

    def put(self, chunk: Chunk) -> None:
        """Add a chunk at the end."""
        if not chunk.records:
            return
        if self._first is None:
            self._first = chunk
        elif self._others is None:
            self._others = deque((chunk,))
        else:
            self._others.append(chunk)
        self.records += len(chunk.records)
        self.size += chunk.size

    def take(self) -> Sequence[DurableStreamRecord]:
        """Remove and return the records of the first chunk; none when empty."""
        chunk = self._first
        if chunk is None:
            return ()
        self._first = self._others.popleft() if self._others else None
        self.records -= len(chunk.records)
        self.size -= chunk.size
        return chunk.records

    def clear(self) -> None:
        """Drop everything."""
        self._first = self._others = None
        self.records = self.size = 0
