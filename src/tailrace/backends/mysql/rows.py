"""Rows of ``topics``, and what a read says of one, as values."""

from typing import NamedTuple

from tailrace.spi import Boundary, Bounds, Seal


class TopicRow(NamedTuple):
    """A row of ``topics``, as ``Statements.lock`` selects it."""

    id: int
    incarnation: int
    horizon_position: int
    horizon_tag: int
    last_position: int
    last_tag: int
    size: int
    largest: int
    first_at: int | None
    sealed: int
    seal_error: bytes | None
    last_at: int
    name: bytes

    @property
    def records(self) -> int:
        """How many are retained."""
        return self.last_position - self.horizon_position


class Head(NamedTuple):
    """Where a topic stands, in the one look of a read.

    Attributes:
        now: The server's clock, microseconds since the epoch.
        grave: Incarnation of the last deleted life that is remembered, 0 for none.
        tag_at: Tag of the record at the place that was asked for, ``None`` for none there.
        bounds: ``None`` if there is no such topic.
        largest: Payload bytes of its largest record ever.
    """

    now: int
    grave: int
    tag_at: int | None
    bounds: Bounds | None
    largest: int


def head_of(text: bytes) -> Head:
    """Read what ``Statements.head`` makes."""
    now, grave, *topic = text.split(b",")
    if not topic:
        return Head(int(now), int(grave), None, None, 0)
    tag_at, incarnation, first, first_tag, last, last_tag, largest, sealed = map(int, topic[:8])
    seal = seal_of(sealed, bytes.fromhex(topic[8].decode()) if len(topic) > 8 else None)
    bounds = Bounds(Boundary(incarnation, first, first_tag), Boundary(incarnation, last, last_tag), seal)
    return Head(int(now), int(grave), None if tag_at < 0 else tag_at, bounds, largest)


def seal_of(sealed: int, error: bytes | None) -> Seal | None:
    """Return the seal that two columns say."""
    return Seal(None if error is None else error.decode()) if sealed else None
