"""Changing one topic inside a write transaction: growing, sealing, cutting, burying.

Every function here may be called again after its transaction was rolled back: nothing is kept outside it.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, repeat

from tailrace.backends.sqlite import statements
from tailrace.backends.sqlite.reading import TopicRow, find, now
from tailrace.errors import TopicSealedError
from tailrace.retention import Retention
from tailrace.spi import Appended, AppendOutcome, AppendRefused, Boundary, Entry

CUT_RECORDS = 1000
"""Old records removed by one append, beyond as many as it brings: a limit that was lowered is reached in steps."""


def append(
    connection: sqlite3.Connection, entries: Sequence[Entry], kept: Callable[[str], Retention]
) -> Sequence[AppendOutcome]:
    """Store the entries of many topics under one tag, and cut each topic to what is kept of it."""
    tag = _random(4)
    if len(entries) == 1:
        topic = entries[0].topic
        return (_append_to(connection, topic, entries, tag, kept(topic))[0],)
    outcomes: dict[int, AppendOutcome] = {}
    for topic, indices in _by_topic(entries).items():
        parts = [entries[index] for index in indices]
        outcomes.update(zip(indices, _append_to(connection, topic, parts, tag, kept(topic)), strict=True))
    return [outcomes[index] for index in range(len(entries))]


def _append_to(
    connection: sqlite3.Connection, topic: str, parts: Sequence[Entry], tag: int, keep: Retention
) -> Sequence[AppendOutcome]:
    execute = connection.execute
    row = execute(statements.TAIL, (topic.encode(),)).fetchone() or _tail_of_new(connection, topic)
    topic_id, incarnation, last, largest, first_at, sealed = row
    if sealed:
        return [AppendRefused(_sealed())] * len(parts)
    payloads = parts[0].payloads if len(parts) == 1 else [payload for part in parts for payload in part.payloads]
    count, at = len(payloads), now()
    if count == 1:
        size = longest = len(payloads[0])
        execute(statements.ADD_RECORD, (topic_id, last + 1, tag, at, payloads[0]))
    else:
        sizes = list(map(len, payloads))
        size, longest = sum(sizes), max(sizes)
        places = range(last + 1, last + count + 1)
        rows = zip(repeat(topic_id), places, repeat(tag), repeat(at), payloads, strict=False)
        connection.executemany(statements.ADD_RECORD, rows)
    execute(statements.GROW_TOPIC, (last + count, tag, size, max(largest, longest), at, topic_id))
    if first_at is None:
        execute(statements.FIRST_STAMP, (at, topic_id))
    if keep.max_records is not None or keep.max_bytes is not None:
        _cut_slack(connection, topic, keep, count)
    ends = accumulate((len(part.payloads) for part in parts), initial=last)
    return [Appended(Boundary(incarnation, end, tag)) for end in islice(ends, 1, None)]


def _tail_of_new(connection: sqlite3.Connection, topic: str) -> tuple[int, int, int, int, None, int]:
    row = create(connection, topic)
    return row.id, row.incarnation, 0, 0, None, 0


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


def _cut_slack(connection: sqlite3.Connection, topic: str, keep: Retention, added: int) -> None:
    # A large topic is cut once in a while, to exactly the limit, not by one record at each append.
    row = find(connection, topic)
    assert row is not None
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


def _random(size: int) -> int:
    return int.from_bytes(os.urandom(size), "big") or 1


def _sealed() -> TopicSealedError:
    return TopicSealedError("the topic is sealed: nothing can be appended to it any more")
