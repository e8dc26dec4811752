"""What a sweep finds and does in a PostgreSQL database: each call a few short statements."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.types.numeric import Int8

from tailrace.backends.postgres.cutting import PATIENCE, Cutting, locked, seconds
from tailrace.backends.postgres.session import Session
from tailrace.backends.postgres.statements import Statements
from tailrace.backends.sql.clock import Clock
from tailrace.backends.sql.cuts import Cut
from tailrace.backends.sql.ground import BATCH, SLICE, Candidate, Ground, Key
from tailrace.errors import DurableStreamUnavailableError
from tailrace.retention import Retention


class PostgresGround(Ground):
    """Thread-safe.

    Args:
        patience: Seconds that each statement may take.
    """

    def __init__(self, session: Session, statements: Statements, cutting: Cutting, patience: float) -> None:
        self._session = session
        self._statements = statements
        self._cutting = cutting
        self._patience = patience
        self._clock = Clock(lambda: int(self._ask(statements.now, {})[0][0]))
        self._reclaimed: dict[int, tuple[int, int]] = {}

    def stamp(self, ago: float) -> int:
        """Return the stamp of that many seconds ago, by the server's clock."""
        return self._clock.stamp(ago)

    def aged(self, before: int, after: Key) -> Sequence[Candidate]:
        """Return topics in the order of the index by age."""
        return self._in_order(self._statements.aged, before, after)

    def overfull(self, records: int, size: int, after: Key) -> Sequence[Candidate]:
        """Return topics in the order of their ids."""
        values = {"id": Int8(max(0, after[1])), "slice": Int8(SLICE), "records": Int8(records), "size": Int8(size)}
        return [_candidate(row) for row in self._ask(self._statements.overfull, values)]

    def idle(self, before: int, after: Key) -> Sequence[Candidate]:
        """Return topics in the order of the index of idle ones."""
        return self._in_order(self._statements.idle, before, after)

    def cut(self, candidate: Candidate, keep: Retention, oldest: int, room: int) -> Cut | None:
        """Remove records of one topic."""
        return self._cutting.cut(candidate.name, candidate.id, keep, oldest, room, PATIENCE)

    def forget(self, candidate: Candidate, before: int) -> bool | None:
        """End the life of one topic."""
        try:
            return self._cutting.bury(candidate.name, candidate.id, before, PATIENCE) is not None
        except DurableStreamUnavailableError as exc:
            if locked(exc):
                return None
            raise

    def next_remains(self, after: int) -> int | None:
        """Return a topic's id."""
        rows = self._ask(self._statements.next_remains, {"id": Int8(after + 1)})
        if not rows:
            return None
        ((topic_id, through),) = rows
        self._reclaimed = {topic_id: (0, through)}
        return int(topic_id)

    def reclaim(self, topic_id: int, room: int) -> int | None:
        """Remove records that are before a horizon, or of a topic that is gone."""
        after, through = self._reclaimed.get(topic_id, (0, 0))
        done = self._cutting.reclaim(topic_id, after, through, room)
        if done is None:
            return None
        removed, after = done
        self._reclaimed = {topic_id: (after, through)}
        return removed

    def expire(self, before: int) -> int:
        """Forget some deleted lives."""
        values = {"before": seconds(before), "most": Int8(BATCH)}
        return int(self._ask(self._statements.expire, values)[0][0])

    def _in_order(self, statement: bytes, before: int, after: Key) -> Sequence[Candidate]:
        value, id_ = after
        values = {
            "before": seconds(before),
            "after": seconds(max(0, value)),
            "id": Int8(id_),
            "most": Int8(BATCH),
        }
        return [_candidate(row) for row in self._ask(statement, values)]

    def _ask(self, statement: bytes, values: Mapping[str, Any]) -> list[Any]:
        return self._session.ask(statement, values, time.monotonic() + self._patience, "operate")


def _candidate(row: tuple[int, int, bytes, int, int]) -> Candidate:
    value, id_, name, records, size = row
    return Candidate(value, id_, name.decode(), records, size)
