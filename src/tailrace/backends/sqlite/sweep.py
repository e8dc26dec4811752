"""Applying retention to all topics, a little at a time.

A sweep goes through its tasks in turn, each of them through its candidates in the order of an index, one short
transaction for each. Where the budget ends it, the next one goes on, also past a topic that is large or fails: no
topic keeps the others from their turn.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from tailrace.backends.sqlite import reading, statements, writing
from tailrace.backends.sqlite.session import Session
from tailrace.errors import StoreUnusableError
from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import SweepBudget, SweepReport, SweepTally

_log = logging.getLogger("tailrace.sqlite")

_BATCH = 100
_NEVER = 2**62

Key = tuple[int, int]
_START: Key = (-(2**63), -(2**63))
_END: Key = (2**63 - 1, 2**63 - 1)


class Sweeper:
    """Sweeps one store, and remembers where it ended. One sweep at a time makes sense; more do no harm."""

    def __init__(self, session: Callable[[], Session], options: StoreOptions) -> None:
        self._session = session
        self._options = options
        self._task = 0
        self._at: dict[str, Key] = {}

    def sweep(self, budget: SweepBudget) -> SweepReport:
        """Do what the budget allows.

        Raises:
            StoreUnusableError: Nothing worked. Single topics that fail are logged and passed.
        """
        tally = SweepTally(budget)
        tasks = (self._reclaim, self._age, self._overfull, self._forget, self._expire)
        done = True
        for _ in tasks:
            done = tasks[self._task](tally)
            if not done:
                break
            self._task = (self._task + 1) % len(tasks)
        return tally.report(done=done)

    def _reclaim(self, tally: SweepTally) -> bool:
        session, after = self._session(), 0
        while (found := self._one(statements.NEXT_REMAINS, (after,))) is not None:
            after = int(found[0])
            removed = room = tally.room
            while removed == room:
                room = tally.room
                if not room:
                    return False
                removed = reclaim(session, after, room, self._options.append_timeout)
                tally.records += removed
        return True

    def _age(self, tally: SweepTally) -> bool:
        if self._options.strictest.max_age is None:
            return True
        return self._go_round("age", tally, self._aged, self._cut)

    def _aged(self, after: Key) -> Iterator[tuple[Key, int, str]]:
        oldest = oldest_kept(self._options.strictest, self._options)
        for key, topic_id, name in self._batches(statements.AGED, (oldest,), after):
            if key[0] < oldest_kept(self._options.kept(name), self._options):
                yield key, topic_id, name

    def _overfull(self, tally: SweepTally) -> bool:
        # Appends keep these limits themselves: what is left is topics without one since a limit was lowered.
        keep = self._options.strictest
        if keep.max_records is None and keep.max_bytes is None:
            return True
        return self._go_round("overfull", tally, self._over, self._cut)

    def _over(self, after: Key) -> Iterator[tuple[Key, int, str]]:
        keep = self._options.strictest
        limits = (_bound(keep.max_records), _bound(keep.max_bytes))
        for key, topic_id, name, records, size in self._batches(statements.OVERFULL, limits, after):
            own = self._options.kept(name)
            if records > _bound(own.max_records) or size > _bound(own.max_bytes):
                yield key, topic_id, name

    def _forget(self, tally: SweepTally) -> bool:
        if self._options.forget_after is None:
            return True
        idle = reading.stamp(self._options.forget_after)
        return self._go_round(
            "forget",
            tally,
            lambda after: self._batches(statements.IDLE, (idle,), after),
            lambda topic_id, name, tally: self._bury(topic_id, name, idle, tally),
        )

    def _expire(self, tally: SweepTally) -> bool:
        before = reading.stamp(self._options.tombstone_for)

        def work(connection: sqlite3.Connection) -> tuple[int, tuple[()]]:
            return connection.execute(statements.EXPIRE_TOMBSTONES, (before, _BATCH)).rowcount, ()

        while self._session().write(work, self._options.append_timeout) == _BATCH:
            if not tally.room:
                return False
        return True

    def _go_round(
        self,
        task: str,
        tally: SweepTally,
        candidates: Callable[[Key], Iterator[tuple[Key, int, str]]],
        handle: Callable[[int, str, SweepTally], bool],
    ) -> bool:
        """Go from where the last sweep ended to the end, and from the start to there; say whether that was all."""
        start = self._at.pop(task, _START)
        for first, last in ((start, _END), (_START, start)):
            for key, topic_id, name in candidates(first):
                if key > last:
                    break
                finished = bool(tally.room) and self._guarded(handle, topic_id, name, tally)
                if not finished:
                    # After it, not at it: a topic that fills every budget must not be the only one that gets any.
                    self._at[task] = key
                    return False
            if start == _START:
                break
        return True

    def _guarded(
        self, handle: Callable[[int, str, SweepTally], bool], topic_id: int, name: str, tally: SweepTally
    ) -> bool:
        try:
            finished = handle(topic_id, name, tally)
        except StoreUnusableError as exc:
            tally.failures.append(exc)
            _log.warning("a topic could not be swept and was passed: %s", exc)
            return True
        tally.topics += 1
        return finished

    def _cut(self, topic_id: int, name: str, tally: SweepTally) -> bool:
        keep = self._options.kept(name)
        oldest = oldest_kept(keep, self._options)

        def chunk(connection: sqlite3.Connection) -> tuple[writing.Cut, set[str]]:
            row = reading.find(connection, name)
            if row is None or row.id != topic_id:
                return writing.Cut(), set()
            cut = writing.cut(connection, row, keep, oldest, room)
            return cut, ({name} if cut.records else set())

        while room := tally.room:
            cut = self._session().write(chunk, self._options.append_timeout)
            tally.records += cut.records
            tally.bytes += cut.bytes
            if not cut.more:
                return True
        return False

    def _bury(self, topic_id: int, name: str, idle: int, tally: SweepTally) -> bool:
        def work(connection: sqlite3.Connection) -> tuple[bool, set[str]]:
            # Looked at again, in the transaction that ends it: an append may have come in between.
            found = connection.execute(statements.STILL_IDLE, (topic_id, idle)).fetchone()
            row = reading.find(connection, name)
            if found is None or row is None:
                return False, set()
            writing.bury(connection, row, name)
            return True, {name}

        tally.forgotten += self._session().write(work, self._options.append_timeout)
        return True

    def _batches(self, statement: str, limits: tuple[int, ...], after: Key) -> Iterator[tuple[Any, ...]]:
        while rows := self._all(statement, (*limits, *after, _BATCH)):
            for value, topic_id, name, *more in rows:
                after = (value, topic_id)
                yield after, topic_id, name.decode(), *more

    def _all(self, statement: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        return self._session().read(lambda connection: connection.execute(statement, values).fetchall())

    def _one(self, statement: str, values: tuple[object, ...]) -> tuple[int, ...] | None:
        row = self._session().read(lambda connection: connection.execute(statement, values).fetchone())
        return None if row is None else tuple(row)


def _bound(most: int | None) -> int:
    return _NEVER if most is None else min(int(most), _NEVER)


def reclaim(session: Session, topic_id: int, room: int, timeout: float) -> int:
    """Remove up to ``room`` records of a topic that is gone; fewer than that: they were the last."""

    def work(connection: sqlite3.Connection) -> tuple[int, tuple[()]]:
        removed = connection.execute(statements.RECLAIM, (topic_id, room)).rowcount
        if removed < room:
            connection.execute(statements.DROP_REMAINS, (topic_id,))
        return removed, ()

    return session.write(work, timeout)


def oldest_kept(retention: Retention, options: StoreOptions) -> int:
    """Return the earliest stamp that is kept by age.

    A record is stamped before its commit and counts from when it became readable: the longest that an append may
    take lies between the two.
    """
    if retention.max_age is None:
        return 0
    return reading.stamp(retention.max_age + options.append_timeout)
