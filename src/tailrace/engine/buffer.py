"""The undelivered records of one subscription: chunks in order, bounded by count and bytes. Pure."""

from collections import deque
from collections.abc import Sequence

from tailrace.engine.chunk import Chunk
from tailrace.records import DurableStreamRecord


class Buffer:
    """A bounded queue of chunks.

    It takes a chunk whole or not at all, and an empty one takes any chunk, so it never holds more than
    its bounds plus one page.
    """

    __slots__ = ("_chunks", "_max_bytes", "_max_records", "records", "size")

    def __init__(self, max_records: int, max_bytes: int) -> None:
        self._chunks: deque[Chunk] = deque()
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
        if chunk.records:
            self._chunks.append(chunk)
            self.records += len(chunk.records)
            self.size += chunk.size

    def take(self) -> Sequence[DurableStreamRecord]:
        """Remove and return the records of the first chunk; none when empty."""
        if not self._chunks:
            return ()
        chunk = self._chunks.popleft()
        self.records -= len(chunk.records)
        self.size -= chunk.size
        return chunk.records

    def clear(self) -> None:
        """Drop everything."""
        self._chunks.clear()
        self.records = self.size = 0
