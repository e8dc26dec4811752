"""Applying retention to all topics, a little at a time.

A sweep goes through its tasks in turn, each of them through its candidates in the order of an index, one short
transaction for each. Where the budget ends it, the next one goes on, also past a topic that is large or fails: no
topic keeps the others from their turn. Several at once do no harm.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence

from tailrace.backends.mysql import literals, writing
from tailrace.backends.mysql.connections import Connections
from tailrace.backends.mysql.line import Rows
from tailrace.backends.mysql.rows import TopicRow
from tailrace.backends.mysql.tables import Statements
from tailrace.backends.mysql.transactions import Transactions
from tailrace.backends.mysql.writing import Ask
from tailrace.errors import StoreUnusableError
from tailrace.options import Retention, StoreOptions
from tailrace.spi import SweepBudget, SweepReport, SweepTally

_log = logging.getLogger("tailrace.mysql")

_BATCH = 100
_NEVER = 2**62

Key = tuple[int, int]
_START: Key = (-(2**63), 0)
_END: Key = (2**63 - 1, 2**64 - 1)


class Sweeper:
    """Sweeps one store, and remembers where it ended."""

    def __init__(
        self, connections: Connections, transactions: Transactions, statements: Statements, options: StoreOptions
    ) -> None:
        self._connections = connections
        self._transactions = transactions
        self._statements = statements
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
        after = 0
        while rows := self._look(self._statements.next_remains % after):
            after = int(rows[0][0])
            removed = room = tally.room
            while removed == room:
                room = tally.room
                if not room:
                    return False
                removed = reclaim(self._transactions, self._statements, after, room, self._deadline())
                tally.records += removed
        return True

    def _age(self, tally: SweepTally) -> bool:
        keep = self._options.retention
        if keep.max_age is None:
            return True
        oldest = oldest_kept(self._asks, self._statements, keep, self._options.append_timeout)

        def batch(after: Key) -> bytes:
            return self._statements.aged % (oldest, after[0], after[0], after[1], _BATCH)

        return self._go_round("age", tally, batch, self._cut)

    def _overfull(self, tally: SweepTally) -> bool:
        # Appends keep these limits themselves: what is left is topics without one since a limit was lowered.
        keep = self._options.retention
        if keep.max_records is None and keep.max_bytes is None:
            return True
        records, size = (
            _NEVER if most is None else min(int(most), _NEVER) for most in (keep.max_records, keep.max_bytes)
        )

        def batch(after: Key) -> bytes:
            return self._statements.overfull % (after[1], records, size, _BATCH)

        return self._go_round("overfull", tally, batch, self._cut)

    def _forget(self, tally: SweepTally) -> bool:
        if self._options.forget_after is None:
            return True
        idle = _ago(self._asks, self._statements, self._options.forget_after)

        def batch(after: Key) -> bytes:
            return self._statements.idle % (idle, after[0], after[0], after[1], _BATCH)

        def bury(topic_id: int, name: bytes, tally: SweepTally) -> bool:
            return self._bury(topic_id, name, idle, tally)

        return self._go_round("forget", tally, batch, bury)

    def _expire(self, tally: SweepTally) -> bool:
        before = _ago(self._asks, self._statements, self._options.tombstone_for)

        def work(ask: Ask) -> tuple[Sequence[bytes], int]:
            # Counted by a look of the same transaction: the driver's own count is not of every statement.
            ask([self._statements.expire % (before, _BATCH)])
            return (b"DO 0",), int(ask([b"SELECT ROW_COUNT()"])[-1][0][0])

        while self._transactions.run(work, self._deadline()) >= _BATCH:
            if not tally.room:
                return False
        return True

    def _go_round(
        self,
        task: str,
        tally: SweepTally,
        batch: Callable[[Key], bytes],
        handle: Callable[[int, bytes, SweepTally], bool],
    ) -> bool:
        """Go from where the last sweep ended to the end, and from the start to there; say whether that was all."""
        start = self._at.pop(task, _START)
        for first, last in ((start, _END), (_START, start)):
            for key, topic_id, name in self._candidates(batch, first):
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

    def _candidates(self, batch: Callable[[Key], bytes], after: Key) -> Iterator[tuple[Key, int, bytes]]:
        while rows := self._look(batch(after)):
            for value, topic_id, name in rows:
                after = (int(value), int(topic_id))
                yield after, int(topic_id), bytes(name)

    def _guarded(
        self, handle: Callable[[int, bytes, SweepTally], bool], topic_id: int, name: bytes, tally: SweepTally
    ) -> bool:
        try:
            finished = handle(topic_id, name, tally)
        except StoreUnusableError as exc:
            tally.failures.append(exc)
            _log.warning("a topic could not be swept and was passed: %s", exc)
            return True
        tally.topics += 1
        return finished

    def _cut(self, topic_id: int, name: bytes, tally: SweepTally) -> bool:
        keep = self._options.retention

        def chunk(ask: Ask) -> tuple[Sequence[bytes], writing.Cut]:
            row = _find(ask, self._statements, topic_id, name)
            if row is None:
                return (), writing.Cut([])
            oldest = oldest_kept(ask, self._statements, keep, self._options.append_timeout)
            cut = writing.cut(ask, self._statements, row, keep, oldest, room)
            return cut.statements, cut

        while room := tally.room:
            cut = self._transactions.run(chunk, self._deadline())
            tally.records += cut.records
            tally.bytes += cut.bytes
            if not cut.more:
                return True
        return False

    def _bury(self, topic_id: int, name: bytes, idle: int, tally: SweepTally) -> bool:
        def work(ask: Ask) -> tuple[Sequence[bytes], int]:
            # Looked at again, in the transaction that ends it: an append may have come in between.
            row = _find(ask, self._statements, topic_id, name)
            if row is None or not ask([self._statements.still_idle % (topic_id, idle)])[-1]:
                return (), 0
            return writing.bury(self._statements, row), 1

        tally.forgotten += self._transactions.run(work, self._deadline())
        return True

    def _look(self, statement: bytes) -> Rows:
        return self._asks([statement])[-1]

    def _asks(self, statements: Sequence[bytes]) -> Sequence[Rows]:
        deadline = self._deadline()
        return self._connections.ask_again(lambda line: line.ask(statements, deadline), deadline)

    def _deadline(self) -> float:
        return time.monotonic() + self._options.append_timeout


def reclaim(transactions: Transactions, statements: Statements, topic_id: int, room: int, deadline: float) -> int:
    """Remove up to ``room`` records of a topic that is gone; fewer than that: they were the last."""

    def work(ask: Ask) -> tuple[Sequence[bytes], int]:
        ask([statements.reclaim % (topic_id, room)])
        removed = int(ask([b"SELECT ROW_COUNT()"])[-1][0][0])
        return (b"DO 0" if removed >= room else statements.drop_remains % topic_id,), removed

    return transactions.run(work, deadline)


def oldest_kept(ask: Ask, statements: Statements, retention: Retention, grace: float) -> int:
    """Return the earliest stamp that is kept by age, by the server's clock.

    A record is stamped before its commit and counts from when it became readable: the longest that an append may
    take lies between the two.
    """
    return 0 if retention.max_age is None else _ago(ask, statements, retention.max_age + grace)


def _ago(ask: Ask, statements: Statements, seconds: float) -> int:
    return max(0, int(ask([statements.now])[-1][0][0]) - int(seconds * 1e6))


def _find(ask: Ask, statements: Statements, topic_id: int, name: bytes) -> TopicRow | None:
    rows = ask([statements.lock % literals.text(name)])[-1]
    return TopicRow._make(rows[0]) if rows and rows[0][0] == topic_id else None
