"""Operations on a SQLite store: listing, trimming, deleting, sweeping, migrating. Each in transactions of a few
hundred records, so that nobody who appends waits longer than one of them takes.
"""

import sqlite3
from collections.abc import Sequence

from tailrace.backends.sqlite import reading, statements, writing
from tailrace.backends.sqlite.session import Session
from tailrace.backends.sqlite.sweep import Sweeper, oldest_kept, reclaim
from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import SweepBudget, SweepReport, TopicInfo

CHUNK = 500
"""Records removed in one transaction."""

_NO_LIMIT = 2**62
"""More than there can be, and still a number that SQLite takes."""


class SqliteMaintenance:
    """The ``Maintenance`` half of the store."""

    _options: StoreOptions
    _sweeper: Sweeper

    def _session(self) -> Session:
        raise NotImplementedError

    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[TopicInfo]:
        """List existing topics in byte order of their names."""
        start, end = prefix.encode(), _past(prefix.encode())
        values = (after.encode(), start, end, end, max(0, min(limit, _NO_LIMIT)))
        rows = self._session().read(lambda connection: connection.execute(statements.LIST_TOPICS, values).fetchall())
        return [
            TopicInfo(name.decode(), records, size, touched / 1e6 if last else None, reading.seal_of(sealed, error))
            for name, records, size, touched, last, sealed, error in rows
        ]

    def trim(self, topic: str, retention: Retention) -> int:
        """Apply ``retention`` to one topic, now and in full."""
        oldest = oldest_kept(retention, self._options)
        incarnation: int | None = None
        removed, more = 0, True

        def chunk(connection: sqlite3.Connection) -> tuple[writing.Cut, set[str]]:
            nonlocal incarnation
            row = reading.find(connection, topic)
            # Another life that began between two chunks is none of this trim's business.
            if row is None or incarnation not in (None, row.incarnation):
                return writing.Cut(), set()
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
        while reclaim(self._session(), topic_id, CHUNK, self._options.append_timeout) == CHUNK:
            pass
        return True

    def sweep(self, budget: SweepBudget) -> SweepReport:
        """Apply the configured retention to all topics, within a budget."""
        return self._sweeper.sweep(budget)

    def migrate(self) -> None:
        """Bring the file's schema up to this release."""
        self._session().migrate(self._options.append_timeout)


def _past(prefix: bytes) -> bytes | None:
    """Return the first name after all that begin with ``prefix``; ``None`` when there is no such bound."""
    # 0xff is in no UTF-8 text, so adding one to the last byte never has to carry.
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else None
