"""One topic's records and what is known about it after they are gone. Pure; the store's lock guards it."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tailrace.retention import Retention
from tailrace.spi import Boundary, Bounds, Page, ReadRequest, Seal, StoredRecord

_random = random.SystemRandom()


def new_incarnation() -> int:
    """Return a random identity for a new topic."""
    return _random.randrange(1, 2**63)


def new_tag() -> int:
    """Return a random value for a new commit."""
    return _random.randrange(1, 2**32)


def _birth() -> Boundary:
    return Boundary(new_incarnation(), 0, 0)


@dataclass(slots=True)
class TopicLog:
    """The life of one topic.

    Attributes:
        birth: The place before its first record.
        horizon: The place of the last record that was removed.
        last: The place of the last record that was appended.
        touched: When that was.
    """

    birth: Boundary = field(default_factory=_birth)
    horizon: Boundary = field(init=False)
    last: Boundary = field(init=False)
    seal: Seal | None = None
    size: int = 0
    _records: list[StoredRecord] = field(default_factory=list)
    _stamps: list[float] = field(default_factory=list)
    _head: int = 0
    touched: float = 0.0

    def __post_init__(self) -> None:
        self.horizon = self.last = self.birth

    @property
    def incarnation(self) -> int:
        """The identity of this life."""
        return self.birth.incarnation

    @property
    def records(self) -> int:
        """How many records are retained."""
        return len(self._records) - self._head

    def extend(self, payloads: Sequence[bytes], tag: int, now: float) -> Boundary:
        """Add payloads at the tail and return the place of the last one."""
        position, size, kept = self.last.position, self.size, len(self._records)
        added: list[StoredRecord] = []
        for payload in payloads:
            position += 1
            added.append(StoredRecord(position, tag, payload))
            size += len(payload)
        last = Boundary(self.incarnation, position, tag)
        try:
            self._records.extend(added)
            self._stamps.extend([now] * len(added))
        except BaseException:
            # An interrupt of the thread that appends must leave all of them or none.
            del self._records[kept:], self._stamps[kept:]
            raise
        # Together, with no call in between at which an interrupt could come.
        self.last, self.touched, self.size = last, now, size
        return last

    def bounds(self) -> Bounds:
        """Return where this topic stands."""
        return Bounds(self.horizon, self.last, self.seal)

    def tag_at(self, position: int) -> int:
        """Return the tag of a retained record before the last."""
        return self._records[self._head + position - self.horizon.position - 1].tag

    def page(self, request: ReadRequest, after: Boundary) -> Page:
        """Return what follows a place that holds."""
        picked: list[StoredRecord] = []
        size = 0
        first = self._head + after.position - self.horizon.position
        for record in self._records[first : first + request.max_records]:
            size += len(record.payload)
            if picked and size > request.max_bytes:
                break
            picked.append(record)
        last = self.last
        if not picked:
            return Page((), after, after.position < last.position, self.seal)
        position, tag, _ = picked[-1]
        if position == last.position:
            return Page(picked, last, False, self.seal)
        return Page(picked, Boundary(self.incarnation, position, tag), True, self.seal)

    def trim(self, retention: Retention, cut: float) -> int:
        """Remove what retention does not keep; ``cut`` is the oldest stamp that max_age keeps."""
        before = self._head
        while self.records and self._over(retention, cut):
            gone = self._records[self._head]
            size, horizon = self.size - len(gone.payload), Boundary(self.incarnation, gone.position, gone.tag)
            # Together, as in ``extend``.
            self._head, self.size, self.horizon = self._head + 1, size, horizon
        removed = self._head - before
        if self._head * 2 > len(self._records):
            del self._records[: self._head], self._stamps[: self._head]
            self._head = 0
        return removed

    def _over(self, retention: Retention, cut: float) -> bool:
        return (
            (retention.max_records is not None and self.records > retention.max_records)
            or (retention.max_bytes is not None and self.size > retention.max_bytes)
            or (retention.max_age is not None and self._stamps[self._head] < cut)
        )
