"""A page turned into records, once, to be shared by every reader that is handed it. Pure."""

import bisect
import enum
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from tailrace.cursors import CursorCodec
from tailrace.records import DurableStreamRecord, records_of
from tailrace.spi import Boundary, Page, Place, Seal, StoredRecord


class Elsewhere(enum.Enum):
    """Where a place is that is not inside a chunk."""

    AHEAD = enum.auto()
    """After the chunk's end: this chunk is older news than the place."""
    LOST = enum.auto()
    """Not on the history that the chunk shows."""


@dataclass(slots=True, frozen=True)
class Chunk:
    """Records of one topic that follow ``start`` without a gap.

    Attributes:
        start: The place that was read after.
        end: The place after the last record.
        records: What readers are given.
        size: Their payload bytes.
        more: Whether the store had more when it was read.
        seal: The topic's seal when it was read.
    """

    start: Place
    end: Place
    records: Sequence[DurableStreamRecord]
    size: int
    more: bool
    seal: Seal | None
    _stored: Sequence[StoredRecord]

    @classmethod
    def of(cls, page: Page, start: Place, codec: CursorCodec) -> "Chunk":
        """Make the records of a page."""
        records: list[DurableStreamRecord] = []
        size = 0
        if isinstance(page.end, Boundary) and page.records:
            payloads = list(map(_payload, page.records))
            records = records_of(payloads, codec.encode_all(page.end.incarnation, page.records))
            size = sum(map(len, payloads))
        return cls(start, page.end, records, size, page.more, page.seal, page.records)

    @property
    def sealed(self) -> bool:
        """Whether the topic ends where this chunk ends."""
        return self.seal is not None and not self.more

    def rest(self, place: Place) -> "Chunk | Elsewhere":
        """Return the part of this chunk that follows a place, or where that place is instead."""
        # All unborn places of one channel are the same place, taken at different times.
        if place is self.start or not isinstance(place, Boundary) or place == self.start:
            return self
        if not isinstance(self.end, Boundary) or place.incarnation != self.end.incarnation:
            return Elsewhere.LOST
        if place.position > self.end.position:
            return Elsewhere.AHEAD
        if place == self.end:
            return Chunk(place, self.end, (), 0, self.more, self.seal, ())
        at = bisect.bisect_left(self._stored, place.position, key=_position)
        if at == len(self._stored) or tuple(self._stored[at][:2]) != (place.position, place.tag):
            return Elsewhere.LOST
        records, stored = self.records[at + 1 :], self._stored[at + 1 :]
        size = sum(len(record.payload) for record in records)
        return Chunk(place, self.end, records, size, self.more, self.seal, stored)


_position = itemgetter(0)
_payload = itemgetter(2)
