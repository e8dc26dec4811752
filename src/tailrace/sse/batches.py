"""The batches of a trunk: kept for a while for readers who are about to take them, and found by cursor. Pure."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from tailrace.records import TopicCursor

KEPT_BYTES = 2**20
"""Bytes of batches that one trunk keeps."""

KEPT_BYTES_IN_ALL = 64 * 2**20
"""The same, of all trunks together."""

BATCH_BYTES = 256 * 1024
"""Bytes after which a write is not joined with more."""


class Place(NamedTuple):
    """Where a reader is in a trunk: the next batch to take, and the first event of it."""

    batch: int
    event: int


class Taken(NamedTuple):
    """What a reader writes next, where it is then, and whether nothing follows yet."""

    body: bytes
    place: Place
    cursor: TopicCursor
    is_all: bool


class FellBehind:
    """The batches at a place are no longer kept."""


@dataclass(slots=True)
class Shelf:
    """How much all trunks of a loop keep together."""

    size: int = 0


class _Batch(NamedTuple):
    body: bytes
    starts: tuple[int, ...]
    last: TopicCursor
    at: float


class Batches:
    """Whole events in order, joined as they are written, numbered by batch.

    Args:
        shelf: Counts what is kept.
        start: Where the first event follows.
    """

    def __init__(self, shelf: Shelf, start: TopicCursor) -> None:
        self._shelf = shelf
        self._kept: deque[_Batch] = deque()
        self._first = 0
        self._size = 0
        self._places: dict[TopicCursor, Place] = {}
        self._taken: tuple[Place, int, Taken] | None = None
        self.head = start

    def __bool__(self) -> bool:
        return bool(self._kept)

    @property
    def next(self) -> Place:
        """The place after everything so far."""
        return Place(self._first + len(self._kept), 0)

    def find(self, cursor: TopicCursor) -> Place | None:
        """Return the place after a cursor, if it is known."""
        # Texts of one place are equal, so no position has to be known here.
        return self.next if cursor == self.head else self._places.get(cursor)

    def take(self, place: Place) -> Taken | FellBehind | None:
        """Return what follows a place, joined to one write; ``None`` if nothing does yet.

        The same object again for those who ask from the same place, one after another: most readers do.
        """
        at = place.batch - self._first
        if at < 0:
            return FellBehind()
        if at >= len(self._kept):
            return None
        end = self._first + len(self._kept)
        if self._taken is not None and self._taken[0] == place and self._taken[1] == end:
            return self._taken[2]
        batch = self._kept[at]
        body = batch.body[batch.starts[place.event] :] if place.event else batch.body
        if at + 1 < len(self._kept) and len(body) < BATCH_BYTES:
            parts, size = [body], len(body)
            for batch in islice(self._kept, at + 1, None):
                parts.append(batch.body)
                size += len(batch.body)
                at += 1
                if size >= BATCH_BYTES:
                    break
            body = b"".join(parts)
        taken = Taken(body, Place(self._first + at + 1, 0), batch.last, self._first + at + 1 == end)
        self._taken = place, end, taken
        return taken

    def put(self, events: Sequence[tuple[TopicCursor, bytes]], now: float) -> None:
        """Add events as one batch, and drop the oldest ones where that is too much to keep."""
        number = self.next.batch
        starts, size = [], 0
        for index, (cursor, body) in enumerate(events, 1):
            starts.append(size)
            size += len(body)
            self._places[cursor] = Place(number, index)
        self.head = events[-1][0]
        # After the last event of a batch comes the first one of the next.
        self._places[self.head] = Place(number + 1, 0)
        self._kept.append(_Batch(b"".join(body for _, body in events), tuple(starts), self.head, now))
        self._size += size
        self._shelf.size += size
        while len(self._kept) > 1 and (self._size > KEPT_BYTES or self._shelf.size > KEPT_BYTES_IN_ALL):
            self._drop_oldest()

    def drop_until(self, time: float) -> None:
        """Drop the batches that were put no later than that."""
        while self._kept and self._kept[0].at <= time:
            self._drop_oldest()

    def release(self) -> None:
        """Count nothing of this any more; who is still to take it may."""
        self._shelf.size -= self._size
        self._size = 0

    def _drop_oldest(self) -> None:
        dropped = self._kept.popleft()
        self._taken = None
        self._first += 1
        self._size -= len(dropped.body)
        self._shelf.size -= len(dropped.body)
        # In the order of the events: those of the oldest batch come first.
        for cursor in list(islice(self._places, len(dropped.starts))):
            del self._places[cursor]
