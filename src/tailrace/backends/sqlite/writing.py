"""Changing one topic inside a write transaction: growing, sealing, cutting, burying.

Every function here may be called again after its transaction was rolled back: nothing is kept outside it.
"""

import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat

from tailrace.backends.sqlite import statements
from tailrace.backends.sqlite.reading import TopicRow, find, now
from tailrace.errors import TopicSealedError
from tailrace.options import Retention
from tailrace.spi import Appended, AppendOutcome, AppendRefused, Entry

CUT_RECORDS = 1000
"""Old records removed by one append, beyond as many as it brings: a limit that was lowered is reached in steps."""


def append(connection: sqlite3.Connection, entries: Sequence[Entry], keep: Retention) -> Sequence[AppendOutcome]:
    """Store the entries of many topics under one tag, and cut each topic to what is kept."""
    outcomes: dict[int, AppendOutcome] = {}
    tag = _random(4)
    for topic, indices in _by_topic(entries).items():
        row = find(connection, topic) or create(connection, topic)
        if row.sealed:
            for index in indices:
                outcomes[index] = AppendRefused(_sealed())
            continue
        position = row.last_position
        for index in indices:
            position += len(entries[index].payloads)
            outcomes[index] = Appended(row.boundary(position, tag))
        payloads = _chained(entries, indices)
        row = _grow(connection, row, payloads, tag)
        _cut_slack(connection, row, keep, len(payloads))
    return [outcomes[index] for index in range(len(entries))]


def create(connection: sqlite3.Connection, topic: str) -> TopicRow:
    """Begin a new life of a topic."""
    incarnation = _random(8) & (2**63 - 1) or 1
    cursor = connection.execute(statements.CREATE_TOPIC, (topic.encode(), incarnation, now()))
    assert cursor.lastrowid is not None
    return TopicRow(cursor.lastrowid, incarnation, 0, 0, 0, 0, 0, 0, None, 0, None)


def seal(connection: sqlite3.Connection, topic: str, error: str | None) -> bool:
    """End a topic; return whether it was open."""
    row = find(connection, topic) or create(connection, topic)
    connection.execute(statements.SEAL, (None if error is None else error.encode(), row.id))
    return not row.sealed


def bury(connection: sqlite3.Connection, row: TopicRow, topic: str) -> None:
    """End a topic's life. Its records are unreadable from now on, and reclaimed later."""
    connection.execute(statements.BURY, (topic.encode(), row.incarnation, now()))
    connection.execute(statements.DROP_TOPIC, (row.id,))
    if row.last_position > row.horizon_position:
        connection.execute(statements.LEAVE_REMAINS, (row.id,))


@dataclass(slots=True, frozen=True)
class Cut:
    """What was removed from the old end of a topic. ``more``: there was no room to remove everything."""

    records: int = 0
    bytes: int = 0
    more: bool = False


def cut(connection: sqlite3.Connection, row: TopicRow, keep: Retention, oldest: int, room: int) -> Cut:
    """Remove at most ``room`` records that are not kept.

    Args:
        oldest: The earliest stamp that ``keep.max_age`` keeps.
    """
    left, size = row.last_position - row.horizon_position, row.size
    position, tag, removed, freed = row.horizon_position, row.horizon_tag, 0, 0
    for candidate, its_tag, at, length in connection.execute(statements.OLDEST, (row.id, position, room)):
        over = (
            (keep.max_records is not None and left - removed > keep.max_records)
            or (keep.max_bytes is not None and size - freed > keep.max_bytes)
            or (keep.max_age is not None and at < oldest)
        )
        if not over:
            break
        position, tag, removed, freed = candidate, its_tag, removed + 1, freed + length
    if not removed:
        return Cut()
    connection.execute(statements.DROP_RECORDS, (row.id, position))
    first = connection.execute(statements.STAMP_AT, (row.id, position + 1)).fetchone()
    connection.execute(statements.RAISE_HORIZON, (position, tag, freed, None if first is None else first[0], row.id))
    return Cut(removed, freed, more=removed == room and first is not None)


def _grow(connection: sqlite3.Connection, row: TopicRow, payloads: Sequence[bytes], tag: int) -> TopicRow:
    sizes = list(map(len, payloads))
    size, largest = sum(sizes), max(row.largest, *sizes) if len(sizes) > 1 else max(row.largest, sizes[0])
    last, at = row.last_position + len(payloads), now()
    rows: Iterable[tuple[int, int, int, int, bytes]] = zip(
        repeat(row.id), range(row.last_position + 1, last + 1), repeat(tag), repeat(at), payloads, strict=False
    )
    connection.executemany(statements.ADD_RECORD, rows)
    connection.execute(statements.GROW_TOPIC, (last, tag, size, largest, at, row.id))
    if row.first_at is None:
        connection.execute(statements.FIRST_STAMP, (at, row.id))
    return row._replace(last_position=last, last_tag=tag, size=row.size + size)


def _cut_slack(connection: sqlite3.Connection, row: TopicRow, keep: Retention, added: int) -> None:
    # A large topic is cut once in a while, to exactly the limit, not by one record at each append.
    records, size = row.last_position - row.horizon_position, row.size
    if (keep.max_records is not None and records > keep.max_records + min(keep.max_records // 16, 256)) or (
        keep.max_bytes is not None and size > keep.max_bytes + min(keep.max_bytes // 16, 2**20)
    ):
        cut(connection, row, Retention(max_records=keep.max_records, max_bytes=keep.max_bytes), 0, CUT_RECORDS + added)


def _by_topic(entries: Sequence[Entry]) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for index, entry in enumerate(entries):
        by_topic.setdefault(entry.topic, []).append(index)
    return by_topic


def _chained(entries: Sequence[Entry], indices: Sequence[int]) -> Sequence[bytes]:
    if len(indices) == 1:
        return entries[indices[0]].payloads
    return [payload for index in indices for payload in entries[index].payloads]


def _random(size: int) -> int:
    return int.from_bytes(os.urandom(size), "big") or 1


def _sealed() -> TopicSealedError:
    return TopicSealedError("the topic is sealed: nothing can be appended to it any more")
