"""Looking at one topic inside a read transaction: where it stands, whether a place holds, what follows it."""

import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from itertools import islice
from operator import itemgetter

from tailrace.backends.sql.places import dense, resolve
from tailrace.backends.sql.places import page as page_of
from tailrace.backends.sql.rows import TopicRow
from tailrace.backends.sqlite import statements
from tailrace.errors import StoreUnusableError
from tailrace.spi import (
    Boundary,
    Bounds,
    ReadFailed,
    ReadOutcome,
    ReadRequest,
    StoredRecord,
    Unborn,
)

_payload = itemgetter(2)

_DAMAGED = "the database is damaged: restore it from a backup, or salvage it with the sqlite3 shell's .recover"


def now() -> int:
    """Return microseconds since the epoch by the host's clock."""
    return time.time_ns() // 1000


def stamp(ago: float) -> int:
    """Return the stamp of that many seconds ago; 0 for anything before the epoch, however long before."""
    return max(0, int((time.time() - ago) * 1e6))


def find(connection: sqlite3.Connection, topic: str) -> TopicRow | None:
    """Return a topic's row."""
    found = connection.execute(statements.TOPIC, (topic.encode(),)).fetchone()
    if found is None:
        return None
    row = TopicRow._make(found)
    if not row.sound:
        raise StoreUnusableError(_DAMAGED)
    return row


def grave(connection: sqlite3.Connection, topic: str) -> int:
    """Return the incarnation of the last life of that name that is remembered, 0 for none."""
    row = connection.execute(statements.GRAVE, (topic.encode(),)).fetchone()
    return 0 if row is None else int(row[0])


def bounds(connection: sqlite3.Connection, topic: str) -> Bounds | Unborn:
    """Return where a topic stands."""
    row = find(connection, topic)
    return Unborn(now(), grave(connection, topic)) if row is None else row.bounds


def page(connection: sqlite3.Connection, request: ReadRequest, tombstone_for: float) -> ReadOutcome:
    """Check that a place holds, and read after it. A topic whose rows are damaged does not fail its neighbours."""
    try:
        return _page(connection, request, tombstone_for)
    except StoreUnusableError as exc:
        return ReadFailed(exc)


def _page(connection: sqlite3.Connection, request: ReadRequest, tombstone_for: float) -> ReadOutcome:
    row = find(connection, request.topic)
    # Only who waits for a topic's birth has to do with the dead.
    unborn = isinstance(request.after, Unborn)
    dead, moment = (grave(connection, request.topic), now()) if unborn else (0, 0)
    tag_at = partial(_tag_at, connection, 0 if row is None else row.id)
    after = resolve(request, row, dead, moment, tombstone_for, tag_at)
    if not isinstance(after, Boundary):
        return after
    assert row is not None
    return page_of(row, after, _records_after(connection, row, after.position, request))


def _tag_at(connection: sqlite3.Connection, topic_id: int, position: int) -> int | None:
    found = connection.execute(statements.TAG_AT, (topic_id, position)).fetchone()
    return None if found is None else int(found[0])


def _records_after(
    connection: sqlite3.Connection, row: TopicRow, position: int, request: ReadRequest
) -> Sequence[StoredRecord]:
    wanted = min(request.max_records, row.last_position - position)
    if wanted <= 0:
        return ()
    rows = connection.execute(statements.RECORDS_AFTER, (row.id, position, wanted))
    if wanted * row.largest <= request.max_bytes:
        return _whole(rows.fetchall(), position, wanted)
    try:
        picked = _fitting(rows, wanted, request.max_bytes, row.largest)
    except TypeError:
        raise StoreUnusableError(_DAMAGED) from None
    return _whole(picked, position, max(1, len(picked)))


def _fitting(rows: sqlite3.Cursor, wanted: int, room: int, largest: int) -> Sequence[StoredRecord]:
    picked: list[StoredRecord] = []
    # As many at once as fit however large they are; one by one near the end. At most one record is read in vain.
    while len(picked) < wanted:
        some = list(islice(rows, max(1, room // largest)))
        size = sum(map(len, map(_payload, some)))
        if not some or (picked and size > room):
            break
        picked += some
        room -= size
        if room <= 0:
            break
    rows.close()
    return picked


def _whole(records: Sequence[StoredRecord], position: int, count: int) -> Sequence[StoredRecord]:
    if dense(records, position, count):
        return records
    raise StoreUnusableError(_DAMAGED)
