"""Operations on a MySQL store: listing, trimming, deleting, sweeping, migrating. Each in transactions of a few hundred
records, so that nobody who appends waits longer than one of them takes.
"""

import time
from collections.abc import Sequence

from tailrace.backends.mysql import literals, schema, writing
from tailrace.backends.mysql.connections import Connections
from tailrace.backends.mysql.rows import TopicRow, seal_of
from tailrace.backends.mysql.sweep import Sweeper, oldest_kept, reclaim
from tailrace.backends.mysql.tables import Statements
from tailrace.backends.mysql.transactions import Transactions
from tailrace.backends.mysql.writing import Ask
from tailrace.options import Retention, StoreOptions
from tailrace.spi import SweepBudget, SweepReport, TopicInfo

CHUNK = 500
"""Records removed in one transaction."""

MIGRATING = 3600.0
"""Seconds that a migration may take."""

_NO_LIMIT = 2**62


class MysqlMaintenance:
    """The ``Maintenance`` half of the store."""

    _options: StoreOptions
    _connections: Connections
    _transactions: Transactions
    _statements: Statements
    _sweeper: Sweeper
    _prefix: str

    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[TopicInfo]:
        """List existing topics in byte order of their names."""
        start, end = prefix.encode(), _past(prefix.encode())
        below = b"" if end is None else b" AND name < " + literals.text(end)
        statement = self._statements.topics % (
            literals.text(after.encode()),
            literals.text(start),
            below,
            max(0, min(limit, _NO_LIMIT)),
        )
        deadline = self._deadline()
        rows = self._connections.ask_again(lambda line: line.ask([statement], deadline)[-1], deadline)
        return [
            TopicInfo(name.decode(), records, size, at / 1e6 if last else None, seal_of(sealed, error))
            for name, records, size, at, last, sealed, error in rows
        ]

    def trim(self, topic: str, retention: Retention) -> int:
        """Apply ``retention`` to one topic, now and in full."""
        incarnation: int | None = None
        removed, more = 0, True

        def chunk(ask: Ask) -> tuple[Sequence[bytes], writing.Cut]:
            nonlocal incarnation
            row = self._find(ask, topic)
            # Another life that began between two chunks is none of this trim's business.
            if row is None or incarnation not in (None, row.incarnation):
                return (), writing.Cut([])
            incarnation = row.incarnation
            oldest = oldest_kept(ask, self._statements, retention, self._options.append_timeout)
            cut = writing.cut(ask, self._statements, row, retention, oldest, CHUNK)
            return cut.statements, cut

        while more:
            cut = self._transactions.run(chunk, self._deadline())
            removed, more = removed + cut.records, cut.more
        return removed

    def delete(self, topic: str) -> bool:
        """Remove a topic. It is gone at once and whole; its records are reclaimed afterwards, in chunks.

        If this process dies meanwhile, the next sweep reclaims the rest.
        """

        def bury(ask: Ask) -> tuple[Sequence[bytes], int | None]:
            row = self._find(ask, topic)
            return ((), None) if row is None else (writing.bury(self._statements, row), row.id)

        topic_id = self._transactions.run(bury, self._deadline())
        if topic_id is None:
            return False
        while reclaim(self._transactions, self._statements, topic_id, CHUNK, self._deadline()) == CHUNK:
            pass
        return True

    def sweep(self, budget: SweepBudget) -> SweepReport:
        """Apply the configured retention to all topics, within a budget."""
        return self._sweeper.sweep(budget)

    def migrate(self) -> None:
        """Bring the tables up to this release."""
        schema.migrate(self._connections, self._prefix, time.monotonic() + MIGRATING)

    def _find(self, ask: Ask, topic: str) -> TopicRow | None:
        rows = ask([self._statements.lock % literals.text(topic.encode())])[-1]
        return TopicRow._make(rows[0]) if rows else None

    def _deadline(self) -> float:
        return time.monotonic() + self._options.append_timeout


def _past(prefix: bytes) -> bytes | None:
    """Return the first name after all that begin with ``prefix``; ``None`` when there is no such bound."""
    # 0xff is in no UTF-8 text, so adding one to the last byte never has to carry.
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else None
