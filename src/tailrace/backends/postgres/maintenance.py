"""Operations on a PostgreSQL store: listing, trimming, deleting, sweeping."""

import time
from collections.abc import Sequence

from psycopg.types.numeric import Int8

from tailrace.backends.handle import patience
from tailrace.backends.postgres.cutting import Cutting
from tailrace.backends.postgres.session import Session
from tailrace.backends.postgres.statements import Statements
from tailrace.backends.postgres.sweep import PostgresGround
from tailrace.backends.sql.cuts import NO_LIMIT
from tailrace.backends.sql.rows import past, seal_of
from tailrace.backends.sql.sweep import Sweeper, oldest_kept
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import SweepBudget, SweepReport, TopicInfo

CHUNK = 1000
"""Records removed by one statement."""


class PostgresMaintenance:
    """The ``Maintenance`` half of the store."""

    _session: Session
    _patient: Statements
    _cutting: Cutting
    _ground: PostgresGround
    _sweeper: Sweeper
    _options: StoreOptions

    def _check_open(self) -> None:
        raise NotImplementedError

    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[TopicInfo]:
        """List existing topics in byte order of their names."""
        self._check_open()
        first, end = prefix.encode(), past(prefix.encode())
        values = {
            "after": after.encode(),
            "first": first,
            # Nothing is greater than this in UTF-8.
            "end": b"\xff" if end is None else end,
            "most": Int8(max(0, min(limit, NO_LIMIT))),
        }
        deadline = time.monotonic() + patience(self._options)
        rows = self._session.ask(self._patient.topics_after, values, deadline, "read")
        return [
            TopicInfo(name.decode(), records, size, last_at / 1e6 if last else None, seal_of(sealed, error))
            for name, records, size, last_at, last, sealed, error in rows
        ]

    def trim(self, topic: str, retention: Retention) -> int:
        """Apply ``retention`` to one topic, now and in full."""
        self._check_open()
        oldest = oldest_kept(retention, self._options, self._ground.stamp)
        id_ = self._id_of(topic)
        removed = 0
        while id_ is not None:
            # Another life that begins between two chunks is none of this trim's business.
            cut = self._cutting.cut(topic, id_, retention, oldest, CHUNK, patience(self._options))
            if cut is None:
                raise DurableStreamUnavailableError("the topic is locked by another transaction: it was not trimmed")
            removed += cut.records
            if not cut.more:
                break
        return removed

    def delete(self, topic: str) -> bool:
        """Remove a topic. It is gone at once and whole; its records are reclaimed afterwards, in chunks.

        If this process dies meanwhile, the next sweep reclaims the rest.
        """
        self._check_open()
        id_ = self._cutting.bury(topic, None, None, patience(self._options))
        if id_ is None:
            return False
        if self._ground.next_remains(id_ - 1) == id_:
            while self._ground.reclaim(id_, CHUNK) == CHUNK:
                pass
        return True

    def sweep(self, budget: SweepBudget) -> SweepReport:
        """Apply the configured retention to all topics, within a budget."""
        self._check_open()
        return self._sweeper.sweep(budget)

    def _id_of(self, topic: str) -> int | None:
        values = {"name": topic.encode()}
        deadline = time.monotonic() + patience(self._options)
        rows = self._session.ask(self._patient.id_of, values, deadline, "read")
        return int(rows[0][0]) if rows else None
