"""Whether a place holds and what page follows it, from the rows of one atomic look. Pure."""

from collections.abc import Callable, Sequence

from tailrace.backends.sql.rows import MAX_TAG, TopicRow
from tailrace.spi import (
    Boundary,
    Page,
    PositionLost,
    ReadRequest,
    StoredRecord,
    Unborn,
    lost_birth,
    lost_place,
)


def resolve(
    request: ReadRequest,
    row: TopicRow | None,
    grave: int,
    now: int,
    tombstone_for: float,
    tag_at: Callable[[int], int | None],
) -> Boundary | Page | PositionLost:
    """Return the place to read after; or the outcome, if nothing is to be read.

    Args:
        grave: Incarnation of the last life of that name that is remembered, 0 for none.
        now: The store's clock, microseconds since the epoch.
        tag_at: Returns the tag of the record at a position between horizon and tail, ``None`` for none there.
    """
    after = request.after
    if isinstance(after, Unborn):
        lost = lost_birth(after, grave, now, tombstone_for)
        if lost is not None or row is None:
            return lost or Page((), after)
        after = row.boundary(0, 0)
    if row is None:
        return PositionLost("the topic was deleted")
    return lost_place(after, row.bounds, tag_at) or after


def page(row: TopicRow, after: Boundary, records: Sequence[StoredRecord]) -> Page:
    """Return the page of these records."""
    end = row.boundary(*records[-1][:2]) if records else after
    return Page(records, end, more=end.position < row.last_position, seal=row.seal)


def dense(records: Sequence[StoredRecord], position: int, count: int) -> bool:
    """Whether these are ``count`` records from ``position`` on, with values that can have been written.

    A store finds torn pages, not rows or index entries that changed or went: a reader would pass over a hole, or ask
    again and again for what is not there.
    """
    if len(records) != count:
        return False
    if not count:
        return True
    positions, tags, payloads = zip(*records, strict=True)
    return (
        positions == tuple(range(position + 1, position + 1 + count))
        and {*map(type, tags)} == {int}
        and 0 <= min(tags) <= max(tags) <= MAX_TAG
        and {*map(type, payloads)} == {bytes}
    )
