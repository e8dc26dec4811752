"""Operations on a MySQL store: listing, trimming, deleting, sweeping. Each in transactions of a few hundred
records, so that nobody who appends waits longer than one of them takes.
"""

import time
from collections.abc import Sequence

from tailrace.backends.mysql import literals, writing
from tailrace.backends.mysql.calls import Calls
from tailrace.backends.mysql.sweep import MysqlGround
from tailrace.backends.mysql.tables import Statements
from tailrace.backends.mysql.transactions import Transactions
from tailrace.backends.mysql.writing import Ask
from tailrace.backends.sql.cuts import NO_LIMIT, Cut
from tailrace.backends.sql.rows import past, seal_of
from tailrace.backends.sql.sweep import Sweeper, oldest_kept
from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import SweepBudget, SweepReport, TopicInfo

CHUNK = 500
"""Records removed in one transaction."""


class MysqlMaintenance:
    """The ``Maintenance`` half of the store."""

    _options: StoreOptions
    _patience: float
    _calls: Calls
    _transactions: Transactions
    _statements: Statements
    _ground: MysqlGround
    _sweeper: Sweeper

    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[TopicInfo]:
        """List existing topics in byte order of their names."""
        start, end = prefix.encode(), past(prefix.encode())
        below = b"" if end is None else b" AND name < " + literals.text(end)
        first = literals.text(after.encode()), literals.text(start)
        statement = self._statements.topics % (*first, below, max(0, min(limit, NO_LIMIT)))
        deadline = self._deadline()
        rows = self._calls.again(lambda line: line.ask([statement], deadline)[-1], deadline)
        return [
            TopicInfo(name.decode(), records, size, at / 1e6 if last else None, seal_of(sealed, error))
            for name, records, size, at, last, sealed, error in rows
        ]

    def trim(self, topic: str, retention: Retention) -> int:
        """Apply ``retention`` to one topic, now and in full."""
        oldest = oldest_kept(retention, self._options, self._ground.stamp)
        incarnation: int | None = None
        removed, more = 0, True

        def chunk(ask: Ask) -> writing.Cutting:
            nonlocal incarnation
            row = writing.find(ask, self._statements, topic)
            # Another life that began between two chunks is none of this trim's business.
            if row is None or incarnation not in (None, row.incarnation):
                return writing.Cutting((), Cut())
            incarnation = row.incarnation
            return writing.cut(ask, self._statements, row, retention, oldest, CHUNK)

        while more:
            cut = self._transactions.run(chunk, self._deadline())
            removed, more = removed + cut.records, cut.more
        return removed

    def delete(self, topic: str) -> bool:
        """Remove a topic. It is gone at once and whole; its records are reclaimed afterwards, in chunks.

        If this process dies meanwhile, the next sweep reclaims the rest.
        """

        def bury(ask: Ask) -> tuple[Sequence[bytes], int | None]:
            row = writing.find(ask, self._statements, topic)
            return ((), None) if row is None else (writing.bury(self._statements, row, topic), row.id)

        topic_id = self._transactions.run(bury, self._deadline())
        if topic_id is None:
            return False
        while self._ground.reclaim(topic_id, CHUNK) == CHUNK:
            pass
        return True

    def sweep(self, budget: SweepBudget) -> SweepReport:
        """Apply the configured retention to all topics, within a budget."""
        return self._sweeper.sweep(budget)

    def _deadline(self) -> float:
        return time.monotonic() + self._patience
