"""Which records of a topic have to go. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from tailrace.backends.sql.rows import TopicRow
from tailrace.retention import Retention

CUT_RECORDS = 1000
"""Old records removed by one append, beyond as many as it brings: a limit that was lowered is reached in steps."""

NO_LIMIT = 2**62
"""More than there can be, and still a number that every store takes."""


class Cut(NamedTuple):
    """What was removed from the old end of a topic. ``more``: there was no room to remove everything."""

    records: int = 0
    bytes: int = 0
    more: bool = False


class Horizon(NamedTuple):
    """Where a topic is to begin: after this record. So many go, with so many bytes of payload."""

    position: int
    tag: int
    records: int
    bytes: int


def horizon(
    row: TopicRow, keep: Retention, oldest: int, candidates: Iterable[tuple[int, int, int, int]]
) -> Horizon | None:
    """Return the horizon that removes those of the oldest records that are not kept; ``None`` if all are kept.

    Args:
        oldest: The earliest stamp that ``keep.max_age`` keeps.
        candidates: Position, tag, stamp and payload bytes of the oldest records, in order.
    """
    found = None
    removed = freed = 0
    for position, tag, at, length in candidates:
        over = (
            (keep.max_records is not None and row.records - removed > keep.max_records)
            or (keep.max_bytes is not None and row.size - freed > keep.max_bytes)
            or (keep.max_age is not None and at < oldest)
        )
        if not over:
            break
        removed, freed = removed + 1, freed + length
        found = Horizon(position, tag, removed, freed)
    return found


def overfull(keep: Retention, records: int, size: int) -> bool:
    """Whether an append has to cut: once in a while to exactly the limit, not by one record each time."""
    return (keep.max_records is not None and records > keep.max_records + min(keep.max_records // 16, 256)) or (
        keep.max_bytes is not None and size > keep.max_bytes + min(keep.max_bytes // 16, 2**20)
    )


def bound(most: int | None) -> int:
    """Return a limit as a number."""
    return NO_LIMIT if most is None else min(int(most), NO_LIMIT)
