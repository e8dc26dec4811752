"""What a sweep finds and does in a SQLite file: each call one short transaction."""

import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from tailrace.backends.sql.cuts import Cut
from tailrace.backends.sql.ground import BATCH, SLICE, Candidate, Ground, Key
from tailrace.backends.sqlite import reading, statements, writing
from tailrace.backends.sqlite.session import Change, Session
from tailrace.retention import Retention

T = TypeVar("T")


class SqliteGround(Ground):
    """Thread-safe.

    Args:
        timeout: Seconds that one transaction may wait for its turn.
    """

    def __init__(self, session: Callable[[], Session], timeout: float) -> None:
        self._session = session
        self._timeout = timeout

    def stamp(self, ago: float) -> int:
        """Return the stamp of that many seconds ago, by the host's clock."""
        return reading.stamp(ago)

    def aged(self, before: int, after: Key) -> Sequence[Candidate]:
        """Return topics in the order of the index by age."""
        return self._candidates(statements.AGED, (before, *after, BATCH))

    def overfull(self, records: int, size: int, after: Key) -> Sequence[Candidate]:
        """Return topics in the order of their ids."""
        first = max(after[1], 0)
        ((last, *_),) = self._session().read(partial(_fetch, statements.SLICE_END, (first, SLICE)))
        return self._candidates(statements.OVERFULL, (first, last, records, size, last)) if last else ()

    def idle(self, before: int, after: Key) -> Sequence[Candidate]:
        """Return topics in the order of the index of idle ones."""
        return self._candidates(statements.IDLE, (before, *after, BATCH))

    def cut(self, candidate: Candidate, keep: Retention, oldest: int, room: int) -> Cut:
        """Remove records of one topic."""

        def chunk(connection: sqlite3.Connection) -> tuple[Cut, set[str]]:
            row = reading.find(connection, candidate.name)
            if row is None or row.id != candidate.id:
                return Cut(), set()
            cut = writing.cut(connection, row, keep, oldest, room)
            return cut, ({candidate.name} if cut.records else set())

        return self._change(chunk)

    def forget(self, candidate: Candidate, before: int) -> bool:
        """End the life of one topic."""

        def work(connection: sqlite3.Connection) -> tuple[bool, set[str]]:
            # Looked at again, in the transaction that ends it: an append may have come in between.
            found = connection.execute(statements.STILL_IDLE, (candidate.id, before)).fetchone()
            row = reading.find(connection, candidate.name)
            if found is None or row is None:
                return False, set()
            writing.bury(connection, row, candidate.name)
            return True, {candidate.name}

        return self._change(work)

    def next_remains(self, after: int) -> int | None:
        """Return a topic's id."""
        found = self._session().read(partial(_fetch, statements.NEXT_REMAINS, (after,)))
        return int(found[0][0]) if found else None

    def reclaim(self, topic_id: int, room: int) -> int:
        """Remove records of a topic that is gone."""

        def work(connection: sqlite3.Connection) -> tuple[int, tuple[()]]:
            removed = connection.execute(statements.RECLAIM, (topic_id, room)).rowcount
            if removed < room:
                connection.execute(statements.DROP_REMAINS, (topic_id,))
            return removed, ()

        return self._change(work)

    def expire(self, before: int) -> int:
        """Forget some deleted lives."""

        def work(connection: sqlite3.Connection) -> tuple[int, tuple[()]]:
            return connection.execute(statements.EXPIRE_TOMBSTONES, (before, BATCH)).rowcount, ()

        return self._change(work)

    def _change(self, work: Change[T]) -> T:
        began = time.monotonic()
        try:
            return self._session().write(work, self._timeout)
        finally:
            # One writer at a time: for as long as this one kept the others waiting, it is their turn.
            time.sleep(time.monotonic() - began)

    def _candidates(self, statement: str, values: tuple[int, ...]) -> Sequence[Candidate]:
        rows = self._session().read(partial(_fetch, statement, values))
        return [Candidate(value, id_, name.decode(), records, size) for value, id_, name, records, size in rows]


def _fetch(
    statement: str, values: tuple[int, ...], connection: sqlite3.Connection
) -> list[tuple[int, int, bytes, int, int]]:
    return connection.execute(statement, values).fetchall()
