"""A page turned into records, once, to be shared by every reader that is handed it. Pure."""

import bisect
import enum
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from tailrace.cursors import CursorCodec
from tailrace.records import DurableStreamRecord, records_of
from tailrace.spi import Boundary, Page, Place, Seal, StoredRecord


class Elsewhere(enum.Enum):
    """Where a place is that is not inside a chunk."""

    AHEAD = enum.auto()
    """After the chunk's end: this chunk is older news than the place."""
    LOST = enum.auto()
    """Not on the history that the chunk shows."""


class Chunk(NamedTuple):
    """Records of one topic that follow ``start`` without a gap.

    Attributes:
        start: The place that was read after.
        end: The place after the last record.
        records: What readers are given.
        size: Their payload bytes.
        more: Whether the store had more when it was read.
        seal: The topic's seal when it was read. Without ``more``, the topic ends where this chunk ends.
        stored: The same records as the store returned them.
    """

    start: Place
    end: Place
    records: Sequence[DurableStreamRecord]
    size: int
    more: bool
    seal: Seal | None
    stored: Sequence[StoredRecord]

    @classmethod
    def of(cls, page: Page, start: Place, codec: CursorCodec) -> "Chunk":
        """Make the records of a page."""
        stored = page.records
        if not stored or not isinstance(page.end, Boundary):
            return cls(start, page.end, (), 0, page.more, page.seal, ())
        if len(stored) == 1:
            # The common case of a live topic, without the detours that pay from the fourth record on.
            position, tag, payload = stored[0]
            record = DurableStreamRecord(payload, codec.encode(Boundary(page.end.incarnation, position, tag)))
            return cls(start, page.end, (record,), len(payload), page.more, page.seal, stored)
        payloads = list(map(_payload, stored))
        records = records_of(payloads, codec.encode_all(page.end.incarnation, stored))
        return cls(start, page.end, records, sum(map(len, payloads)), page.more, page.seal, stored)

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
        at = bisect.bisect_left(self.stored, place.position, key=_position)
        if at == len(self.stored) or tuple(self.stored[at][:2]) != (place.position, place.tag):
            return Elsewhere.LOST
        records = self.records[at + 1 :]
        size = sum(len(record.payload) for record in records)
        return Chunk(place, self.end, records, size, self.more, self.seal, self.stored[at + 1 :])


_position = itemgetter(0)
_payload = itemgetter(2)
