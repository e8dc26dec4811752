"""Removing records, and ending the lives of topics.

A cut first moves the horizon, in a transaction that holds the topic for as long as four short statements take. What is
before it is gone for everybody from then on, and deleted afterwards, in a statement that holds up nobody.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from psycopg.types.numeric import Float8, Int8

from tailrace.backends.postgres.session import Session
from tailrace.backends.postgres.statements import Statements
from tailrace.backends.postgres.wire import Wire
from tailrace.backends.sql.cuts import NO_LIMIT, Cut, Horizon, horizon
from tailrace.backends.sql.rows import TopicRow
from tailrace.errors import DurableStreamUnavailableError
from tailrace.retention import Retention

PATIENCE = 0.5
"""Seconds that a sweep waits for a topic that is locked; then it is passed, and has its turn in the next one."""


class Cutting:
    """Thread-safe.

    Args:
        statements: Those that wait for locks; the others pass a topic that is locked as if it were not there.
        patience: Seconds that each statement may take.
        moved: Called with topics that changed, after their commit.
    """

    def __init__(
        self, session: Session, statements: Statements, patience: float, moved: Callable[[Sequence[str]], None]
    ) -> None:
        self._session = session
        self._statements = statements
        self._patience = patience
        self._moved = moved

    def cut(self, topic: str, id_: int | None, keep: Retention, oldest: int, room: int, patience: float) -> Cut | None:
        """Remove at most ``room`` records that are not kept; ``None``: somebody else holds the topic for that long.

        Args:
            id_: Of the life that is meant; ``None`` for any.
        """
        deadline = time.monotonic() + self._patience
        try:
            with self._session.lent(deadline, "operate") as wire:
                moved = self._raise(wire, topic, id_, keep, oldest, room, patience)
        except DurableStreamUnavailableError as exc:
            if locked(exc):
                return None
            raise
        if moved is None:
            return Cut()
        row, found, fresh = moved
        self._moved([topic])
        if fresh:
            # Otherwise there is more to be reclaimed than this, and the next sweep sees to all of it.
            self.reclaim(row.id, row.horizon_position, found.position, found.records)
        return Cut(found.records, found.bytes, more=found.records == room and found.records < row.records)

    def bury(self, topic: str, id_: int | None, idle_before: int | None, patience: float) -> int | None:
        """End a topic's life, if there is one that is meant; return its id. Its records wait to be reclaimed."""
        deadline = time.monotonic() + self._patience
        with self._session.lent(deadline, "operate") as wire:
            wire.ask(b"BEGIN ISOLATION LEVEL READ COMMITTED", None, deadline)
            row = self._hold(wire, topic, id_, patience)
            if row is not None and idle_before is not None:
                values: Mapping[str, Any] = {"id": Int8(row.id), "before": seconds(idle_before)}
                # Looked at again, in the transaction that ends it: an append may have come in between.
                row = row if wire.ask(self._statements.still_idle, values, deadline) else None
            if row is not None:
                wire.ask(self._statements.bury, {"id": Int8(row.id)}, deadline)
            wire.ask(b"COMMIT", None, deadline)
        if row is None:
            return None
        self._moved([topic])
        return row.id

    def reclaim(self, topic_id: int, after: int, through: int, room: int) -> tuple[int, int] | None:
        """Remove up to ``room`` records after one position and through another, which nobody can read any more.

        Returns:
            How many were removed, and the last of them; ``None`` if somebody else holds one of them locked.
        """
        values = {
            "id": Int8(topic_id),
            "after": Int8(after),
            "through": Int8(through),
            "most": Int8(room),
            "patience": _milliseconds(PATIENCE),
        }
        try:
            ((removed, last),) = self._ask(self._statements.reclaim, values)
        except DurableStreamUnavailableError as exc:
            if locked(exc):
                return None
            raise
        if removed < room or last >= through:
            self._ask(self._statements.drop_remains, {"id": Int8(topic_id), "through": Int8(through)})
        return int(removed), int(last)

    def _raise(
        self, wire: Wire, topic: str, id_: int | None, keep: Retention, oldest: int, room: int, patience: float
    ) -> tuple[TopicRow, Horizon, bool] | None:
        deadline = wire.deadline = time.monotonic() + self._patience
        wire.ask(b"BEGIN ISOLATION LEVEL READ COMMITTED", None, deadline)
        row = self._hold(wire, topic, id_, patience)
        found = fresh = None
        if row is not None:
            values = {"id": Int8(row.id), "position": Int8(row.horizon_position), "most": Int8(min(room, NO_LIMIT))}
            found = horizon(row, keep, oldest, wire.ask(self._statements.oldest, values, deadline))
            if found is not None:
                values = {
                    "id": Int8(row.id),
                    "position": Int8(found.position),
                    "tag": Int8(found.tag),
                    "size": Int8(found.bytes),
                }
                ((fresh,),) = wire.ask(self._statements.raise_horizon, values, deadline)
        wire.ask(b"COMMIT", None, deadline)
        return None if row is None or found is None else (row, found, bool(fresh))

    def _hold(self, wire: Wire, topic: str, id_: int | None, patience: float) -> TopicRow | None:
        values = {"name": topic.encode(), "patience": _milliseconds(patience)}
        rows = wire.ask(self._statements.hold, values, time.monotonic() + self._patience)
        # Another life that began in the meantime is not meant.
        return None if not rows or id_ not in (None, rows[0][0]) else TopicRow._make(rows[0])

    def _ask(self, statement: bytes, values: Mapping[str, Any]) -> list[Any]:
        return self._session.ask(statement, values, time.monotonic() + self._patience, "operate")


def locked(exc: DurableStreamUnavailableError) -> bool:
    """Whether it was for somebody else's lock that a statement ended."""
    return getattr(exc.__cause__, "sqlstate", None) == "55P03"


def seconds(stamp: int) -> Float8:
    """Return a stamp as the server takes it."""
    # Within these, a float has room for microseconds.
    return Float8(min(stamp, 2**52) / 1e6)


def _milliseconds(seconds: float) -> str:
    return str(max(1, int(seconds * 1000)))
