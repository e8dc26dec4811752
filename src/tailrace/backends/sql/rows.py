"""The row of a topic, and what it says. The same columns on every store."""

from typing import NamedTuple

from tailrace.boundaries import MAX_POSITION
from tailrace.spi import Boundary, Bounds, Seal

MAX_TAG = 2**32 - 1


class TopicRow(NamedTuple):
    """Where a topic stands, in the order in which its statement selects the columns.

    Attributes:
        id: Never used again, so that the records of a deleted topic can wait to be reclaimed.
        size: Payload bytes retained; so many records are: ``last_position - horizon_position``.
        largest: Payload bytes of the largest record ever; 0 only while nothing but empty ones was stored.
        first_at: Stamp of the earliest retained record, ``None`` when there is none.
    """

    id: int
    incarnation: int
    horizon_position: int
    horizon_tag: int
    last_position: int
    last_tag: int
    size: int
    largest: int
    first_at: int | None
    sealed: int | bool
    seal_error: bytes | None

    @property
    def records(self) -> int:
        """How many are retained: positions are dense."""
        return self.last_position - self.horizon_position

    @property
    def seal(self) -> Seal | None:
        """The topic's seal."""
        return seal_of(self.sealed, self.seal_error)

    @property
    def bounds(self) -> Bounds:
        """Where the topic stands."""
        beginning = self.boundary(self.horizon_position, self.horizon_tag)
        return Bounds(beginning, self.boundary(self.last_position, self.last_tag), self.seal)

    @property
    def sound(self) -> bool:
        """Whether no value is outside of what can have been written: rows may have been damaged."""
        return (
            {*map(type, self[:8])} == {int}
            and 0 < self.incarnation <= MAX_POSITION
            and 0 <= self.horizon_position <= self.last_position <= MAX_POSITION
            and 0 <= self.horizon_tag <= MAX_TAG
            and 0 <= self.last_tag <= MAX_TAG
            and self.largest >= 0
        )

    def boundary(self, position: int, tag: int) -> Boundary:
        """Return a place in this life."""
        return Boundary(self.incarnation, position, tag)


def seal_of(sealed: int | bool, error: bytes | None) -> Seal | None:
    """Return the seal that two columns say."""
    return Seal(None if error is None else error.decode()) if sealed else None


def past(prefix: bytes) -> bytes | None:
    """Return the first name after all that begin with ``prefix``; ``None`` when there is no such bound."""
    # 0xff is in no UTF-8 text, so adding one to the last byte never has to carry.
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else None
