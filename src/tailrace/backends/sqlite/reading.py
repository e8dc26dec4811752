"""Looking at one topic inside a read transaction: where it stands, whether a place holds, what follows it."""

import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from tailrace.backends.sqlite import statements
from tailrace.boundaries import MAX_POSITION
from tailrace.errors import StoreUnusableError
from tailrace.spi import (
    Boundary,
    Bounds,
    Page,
    PositionLost,
    ReadFailed,
    ReadOutcome,
    ReadRequest,
    Seal,
    StoredRecord,
    Unborn,
    lost_birth,
    lost_place,
)

_payload = itemgetter(2)

_DAMAGED = "the database is damaged: restore it from a backup, or salvage it with the sqlite3 shell's .recover"
_MAX_TAG = 2**32 - 1


class TopicRow(NamedTuple):
    """A row of ``topics``, as ``statements.TOPIC`` selects it."""

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

    @property
    def seal(self) -> Seal | None:
        """The topic's seal."""
        return seal_of(self.sealed, self.seal_error)

    @property
    def bounds(self) -> Bounds:
        """Where the topic stands."""
        beginning = self.boundary(self.horizon_position, self.horizon_tag)
        return Bounds(beginning, self.boundary(self.last_position, self.last_tag), self.seal)

    def boundary(self, position: int, tag: int) -> Boundary:
        """Return a place in this life."""
        return Boundary(self.incarnation, position, tag)


def seal_of(sealed: int, error: bytes | None) -> Seal | None:
    """Return the seal that two columns say."""
    return Seal(None if error is None else error.decode()) if sealed else None


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
    if not _sound(row):
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
    after = request.after
    if isinstance(after, Unborn):
        lost = lost_birth(after, grave(connection, request.topic), now(), tombstone_for)
        if lost is not None or row is None:
            return lost or Page((), after)
        after = row.boundary(0, 0)
    if row is None:
        return PositionLost("the topic was deleted")
    lost = lost_place(after, row.bounds, partial(_tag_at, connection, row.id))
    if lost is not None:
        return lost
    records = _records_after(connection, row, after.position, request)
    end = row.boundary(*records[-1][:2]) if records else after
    return Page(records, end, more=end.position < row.last_position, seal=row.seal)


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
        return _dense(rows.fetchall(), position, wanted)
    try:
        picked = _fitting(rows, wanted, request.max_bytes, row.largest)
    except TypeError:
        raise StoreUnusableError(_DAMAGED) from None
    return _dense(picked, position, max(1, len(picked)))


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


def _dense(records: Sequence[StoredRecord], position: int, count: int) -> Sequence[StoredRecord]:
    # SQLite finds torn pages, not rows or index entries that changed or went: a reader would pass over a hole, or ask
    # again and again for what is not there.
    if len(records) == count:
        positions, tags, payloads = zip(*records, strict=True)
        whole = (
            positions == tuple(range(position + 1, position + 1 + count))
            and {*map(type, tags)} == {int}
            and 0 <= min(tags) <= max(tags) <= _MAX_TAG
            and {*map(type, payloads)} == {bytes}
        )
        if whole:
            return records
    raise StoreUnusableError(_DAMAGED)


def _sound(row: TopicRow) -> bool:
    # `largest` is 0 only while nothing but empty payloads was stored; it divides the room of a page.
    return (
        {*map(type, row[:8])} == {int}
        and 0 < row.incarnation <= MAX_POSITION
        and 0 <= row.horizon_position <= row.last_position <= MAX_POSITION
        and 0 <= row.horizon_tag <= _MAX_TAG
        and 0 <= row.last_tag <= _MAX_TAG
        and row.largest >= 0
    )
