"""Changing one topic inside a write transaction: growing, sealing, cutting, burying.

Every function here may be called again after its transaction was rolled back: nothing is kept outside it.
"""

import sqlite3
from collections.abc import Callable, Sequence
from itertools import repeat

from tailrace.backends.sql.batches import Batch, by_topic, in_order, sealed
from tailrace.backends.sql.cuts import CUT_RECORDS, Cut, horizon, overfull
from tailrace.backends.sql.rows import TopicRow
from tailrace.backends.sqlite import statements
from tailrace.backends.sqlite.reading import find, now
from tailrace.retention import Retention
from tailrace.spi import AppendOutcome, Entry
from tailrace.spi.identities import random_incarnation, random_tag


def append(
    connection: sqlite3.Connection, entries: Sequence[Entry], kept: Callable[[str], Retention]
) -> Sequence[AppendOutcome]:
    """Store the entries of many topics under one tag, and cut each topic to what is kept of it."""
    tag = random_tag()
    batches = by_topic(entries)
    if len(batches) == 1:
        return _append_to(connection, batches[0], tag, kept(batches[0].topic))
    return in_order([(batch, _append_to(connection, batch, tag, kept(batch.topic))) for batch in batches])


def _append_to(connection: sqlite3.Connection, batch: Batch, tag: int, keep: Retention) -> Sequence[AppendOutcome]:
    execute = connection.execute
    row = execute(statements.TAIL, (batch.topic.encode(),)).fetchone() or _tail_of_new(connection, batch.topic)
    topic_id, incarnation, last, largest, first_at, ended = row
    if ended:
        return batch.all(sealed())
    payloads, (size, longest) = batch.payloads, batch.sizes
    count, at = len(payloads), now()
    if count == 1:
        execute(statements.ADD_RECORD, (topic_id, last + 1, tag, at, payloads[0]))
    else:
        places = range(last + 1, last + count + 1)
        rows = zip(repeat(topic_id), places, repeat(tag), repeat(at), payloads, strict=False)
        connection.executemany(statements.ADD_RECORD, rows)
    execute(statements.GROW_TOPIC, (last + count, tag, size, max(largest, longest), at, topic_id))
    if first_at is None:
        execute(statements.FIRST_STAMP, (at, topic_id))
    if keep.max_records is not None or keep.max_bytes is not None:
        _cut_slack(connection, batch.topic, keep, count)
    return batch.appended(incarnation, last, tag)


def _tail_of_new(connection: sqlite3.Connection, topic: str) -> tuple[int, int, int, int, None, int]:
    row = create(connection, topic)
    return row.id, row.incarnation, 0, 0, None, 0


def create(connection: sqlite3.Connection, topic: str) -> TopicRow:
    """Begin a new life of a topic."""
    incarnation = random_incarnation()
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


def cut(connection: sqlite3.Connection, row: TopicRow, keep: Retention, oldest: int, room: int) -> Cut:
    """Remove at most ``room`` records that are not kept.

    Args:
        oldest: The earliest stamp that ``keep.max_age`` keeps.
    """
    execute = connection.execute
    found = horizon(row, keep, oldest, execute(statements.OLDEST, (row.id, row.horizon_position, room)))
    if found is None:
        return Cut()
    execute(statements.DROP_RECORDS, (row.id, found.position))
    first = execute(statements.STAMP_AT, (row.id, found.position + 1)).fetchone()
    stamp = None if first is None else first[0]
    execute(statements.RAISE_HORIZON, (found.position, found.tag, found.bytes, stamp, row.id))
    return Cut(found.records, found.bytes, more=found.records == room and first is not None)


def _cut_slack(connection: sqlite3.Connection, topic: str, keep: Retention, added: int) -> None:
    row = find(connection, topic)
    assert row is not None
    if overfull(keep, row.records, row.size):
        cut(connection, row, Retention(max_records=keep.max_records, max_bytes=keep.max_bytes), 0, CUT_RECORDS + added)
