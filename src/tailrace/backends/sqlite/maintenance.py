"""Operations on a SQLite store: listing, trimming, deleting, sweeping, migrating. Each in transactions of a few
hundred records, so that nobody who appends waits longer than one of them takes.
"""

import sqlite3
from collections.abc import Sequence

from tailrace.backends.sql.cuts import NO_LIMIT, Cut
from tailrace.backends.sql.rows import past, seal_of
from tailrace.backends.sql.sweep import Sweeper, oldest_kept
from tailrace.backends.sqlite import reading, statements, writing
from tailrace.backends.sqlite.session import Session
from tailrace.backends.sqlite.sweep import SqliteGround
from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import SweepBudget, SweepReport, TopicInfo

CHUNK = 500
"""Records removed in one transaction."""


class SqliteMaintenance:
    """The ``Maintenance`` half of the store."""

    _options: StoreOptions
    _ground: SqliteGround
    _sweeper: Sweeper

    def _session(self) -> Session:
        raise NotImplementedError

    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[TopicInfo]:
        """List existing topics in byte order of their names."""
        start, end = prefix.encode(), past(prefix.encode())
        values = (after.encode(), start, end, end, max(0, min(limit, NO_LIMIT)))
        rows = self._session().read(lambda connection: connection.execute(statements.LIST_TOPICS, values).fetchall())
        return [
            TopicInfo(name.decode(), records, size, touched / 1e6 if last else None, seal_of(sealed, error))
            for name, records, size, touched, last, sealed, error in rows
        ]

    def trim(self, topic: str, retention: Retention) -> int:
        """Apply ``retention`` to one topic, now and in full."""
        oldest = oldest_kept(retention, self._options, reading.stamp)
        incarnation: int | None = None
        removed, more = 0, True

        def chunk(connection: sqlite3.Connection) -> tuple[Cut, set[str]]:
            nonlocal incarnation
            row = reading.find(connection, topic)
            # Another life that began between two chunks is none of this trim's business.
            if row is None or incarnation not in (None, row.incarnation):
                return Cut(), set()
            incarnation = row.incarnation
            cut = writing.cut(connection, row, retention, oldest, CHUNK)
            return cut, ({topic} if cut.records else set())

        while more:
            cut = self._session().write(chunk, self._options.append_timeout)
            removed, more = removed + cut.records, cut.more
        return removed

    def delete(self, topic: str) -> bool:
        """Remove a topic. It is gone at once and whole; its records are reclaimed afterwards, in chunks.

        If this process dies meanwhile, the next sweep reclaims the rest.
        """

        def bury(connection: sqlite3.Connection) -> tuple[int | None, set[str]]:
            row = reading.find(connection, topic)
            if row is None:
                return None, set()
            writing.bury(connection, row, topic)
            return row.id, {topic}

        topic_id = self._session().write(bury, self._options.append_timeout)
        if topic_id is None:
            return False
        while self._ground.reclaim(topic_id, CHUNK) == CHUNK:
            pass
        return True

    def sweep(self, budget: SweepBudget) -> SweepReport:
        """Apply the configured retention to all topics, within a budget."""
        return self._sweeper.sweep(budget)
