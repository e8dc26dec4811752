"""What a sweep finds and does in MySQL: each call one short transaction, which waits for a lock of somebody else's no
longer than for ``IMPATIENCE``.
"""

import time
from collections.abc import Sequence
from typing import TypeVar

from tailrace.backends.mysql import literals, writing
from tailrace.backends.mysql.calls import Calls
from tailrace.backends.mysql.errors import locked
from tailrace.backends.mysql.line import Rows
from tailrace.backends.mysql.tables import Statements
from tailrace.backends.mysql.transactions import Transactions, Work
from tailrace.backends.mysql.writing import Ask
from tailrace.backends.sql.clock import Clock
from tailrace.backends.sql.cuts import Cut
from tailrace.backends.sql.ground import BATCH, SLICE, Candidate, Ground, Key
from tailrace.errors import DurableStreamUnavailableError
from tailrace.retention import Retention

T = TypeVar("T")


class MysqlGround(Ground):
    """Thread-safe.

    Args:
        timeout: Seconds that one transaction may take.
    """

    def __init__(self, calls: Calls, transactions: Transactions, statements: Statements, timeout: float) -> None:
        self._calls = calls
        self._transactions = transactions
        self._statements = statements
        self._timeout = timeout
        self._clock = Clock(lambda: int(self._look(statements.now)[0][0]))
        self._reclaimed: dict[int, int] = {}
        self._expired = 0

    def stamp(self, ago: float) -> int:
        """Return the stamp of that many seconds ago, by the server's clock."""
        return self._clock.stamp(ago)

    def aged(self, before: int, after: Key) -> Sequence[Candidate]:
        """Return topics in the order of the index by age."""
        return self._candidates(self._statements.aged % (before, after[0], after[0], after[1], BATCH))

    def overfull(self, records: int, size: int, after: Key) -> Sequence[Candidate]:
        """Return topics in the order of their ids."""
        first = max(after[1], 0)
        ((last,),) = self._look(self._statements.slice_end % (first, SLICE))
        if last is None:
            return ()
        return self._candidates(self._statements.overfull % (first, last, records, size, last))

    def idle(self, before: int, after: Key) -> Sequence[Candidate]:
        """Return topics in the order of the index of idle ones."""
        return self._candidates(self._statements.idle % (before, after[0], after[0], after[1], BATCH))

    def cut(self, candidate: Candidate, keep: Retention, oldest: int, room: int) -> Cut | None:
        """Remove records of one topic."""

        def chunk(ask: Ask) -> writing.Cutting:
            row = writing.find(ask, self._statements, candidate.name)
            if row is None or row.id != candidate.id:
                return writing.Cutting((), Cut())
            return writing.cut(ask, self._statements, row, keep, oldest, room)

        return self._unless_held(chunk)

    def forget(self, candidate: Candidate, before: int) -> bool | None:
        """End the life of one topic."""

        def work(ask: Ask) -> tuple[Sequence[bytes], bool]:
            # Looked at again, in the transaction that ends it: an append may have come in between.
            row = writing.find(ask, self._statements, candidate.name)
            if row is None or not ask([self._statements.still_idle % (candidate.id, before)])[-1]:
                return (), False
            return writing.bury(self._statements, row, candidate.name), True

        return self._unless_held(work)

    def next_remains(self, after: int) -> int | None:
        """Return a topic's id."""
        rows = self._look(self._statements.next_remains % after)
        return int(rows[0][0]) if rows else None

    def reclaim(self, topic_id: int, room: int) -> int | None:
        """Remove records of a topic that is gone."""
        after = self._reclaimed.get(topic_id, 0)

        def work(ask: Ask) -> tuple[Sequence[bytes], tuple[int, int]]:
            ((removed, last),) = ask([self._statements.oldest_places % (topic_id, after, room)])[-1]
            delete = self._statements.drop_records % (topic_id, after, last or after)
            return (delete, b"DO 0" if removed >= room else self._statements.drop_remains % topic_id), (removed, last)

        done = self._unless_held(work)
        if done is None:
            return None
        removed, last = done
        self._reclaimed = {topic_id: int(last)} if removed >= room else {}
        return removed

    def expire(self, before: int) -> int:
        """Forget some deleted lives."""

        graves = self._look(self._statements.oldest_graves % (self._expired, before, BATCH))
        if graves:
            names = b",".join([literals.text(bytes(name)) for _, name in graves])
            statement = self._statements.expire % (names, before)
            self._transactions.run(lambda _: ((statement,), None), self._deadline())
        # Those that are gone, and not purged yet, are not walked over again.
        self._expired = int(graves[-1][0]) if len(graves) == BATCH else 0
        return len(graves)

    def _unless_held(self, work: Work[T]) -> T | None:
        # Waited for a little, and not passed at once: a topic that is appended to all the time would have no turn.
        try:
            return self._transactions.run(work, self._deadline(), wait=False)
        except DurableStreamUnavailableError as exc:
            if locked(exc):
                return None
            raise

    def _candidates(self, statement: bytes) -> Sequence[Candidate]:
        return [
            Candidate(value, topic_id, bytes(name).decode(), records, size)
            for value, topic_id, name, records, size in self._look(statement)
        ]

    def _look(self, statement: bytes) -> Rows:
        deadline = self._deadline()
        return self._calls.again(lambda line: line.ask([statement], deadline)[-1], deadline)

    def _deadline(self) -> float:
        return time.monotonic() + self._timeout
