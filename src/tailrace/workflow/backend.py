"""Streams as the engine sees them: a store whose topics are streams and whose records are documents of items.

So a stream is read like any topic: by pages and live, shared among its readers, from a cursor that is exact. It is
changed through the service alone, which knows the rules.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from typing_extensions import override

from tailrace.errors import StoreUnusableError
from tailrace.spi import (
    AppendOutcome,
    AppendRefused,
    Ask,
    Backend,
    Boundary,
    Bounds,
    Capabilities,
    Database,
    Entry,
    Page,
    PositionLost,
    ReadOutcome,
    ReadRequest,
    StoredRecord,
    Unborn,
    Watch,
    lost_birth,
    lost_place,
)
from tailrace.workflow.store import reading, rows
from tailrace.workflow.store.clock import now
from tailrace.workflow.store.rows import StreamRow

_GRAVES = "SELECT name, incarnation FROM {graves} WHERE name IN ??"
_RECORDS = """
SELECT position, tag, document FROM {workflow_items}
WHERE stream = ? AND position > ? AND position <= ? ORDER BY position
"""

EXPIRED = PositionLost("the stream has expired")

_NOT_HERE = "a stream of a workflow is changed through its run, not as a topic of the store"


class WorkflowBackend(Backend):
    """Thread-safe. Its topics are the ``topic`` of a ``StreamRef``.

    Args:
        store: In whose database the streams are; closed with this.
        database: Of that store.
        tombstone_for: Seconds that streams of a deleted run are remembered.
    """

    def __init__(self, store: Backend, database: Database, tombstone_for: float) -> None:
        self._store = store
        self._database = database
        self._tombstone_for = tombstone_for

    @property
    @override
    def capabilities(self) -> Capabilities:
        return replace(self._store.capabilities, defers=False)

    @override
    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        return [AppendRefused(StoreUnusableError(_NOT_HERE)) for _ in entries]

    @override
    def seal(self, topic: str, error: str | None) -> None:
        raise StoreUnusableError(_NOT_HERE)

    @override
    def bounds(self, topic: str) -> Bounds | Unborn:
        return self._database.look(partial(_bounds, topic))

    @override
    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        return self._database.look(partial(_read, requests, self._tombstone_for))

    @override
    def watch(self) -> Watch:
        return self._database.watch()

    @override
    def close(self) -> None:
        self._store.close()


def _bounds(topic: str, ask: Ask) -> Bounds | Unborn:
    row = rows.find(ask, topic)
    if row is not None:
        return row.bounds
    return Unborn(now(ask), _graves(ask, [topic]).get(topic, 0))


def _read(requests: Sequence[ReadRequest], tombstone_for: float, ask: Ask) -> Sequence[ReadOutcome]:
    topics = list({request.topic for request in requests})
    found = rows.find_all(ask, topics) if topics else {}
    unborn = [request.topic for request in requests if isinstance(request.after, Unborn)]
    # Only who waits for a stream's birth has to do with the dead.
    graves = _graves(ask, unborn) if unborn else {}
    instant = now(ask) if unborn else 0
    return [_page(ask, request, found.get(request.topic), graves, instant, tombstone_for) for request in requests]


def _page(
    ask: Ask, request: ReadRequest, row: StreamRow | None, graves: dict[str, int], instant: int, tombstone_for: float
) -> ReadOutcome:
    after = request.after
    if isinstance(after, Unborn):
        lost = lost_birth(after, graves.get(request.topic, 0), instant, tombstone_for)
        if lost is not None:
            return lost
        if row is None:
            return Page((), after)
        after = Boundary(row.incarnation, 0, 0)
    if row is None:
        return PositionLost("the stream was deleted")
    if not row.found:
        return EXPIRED
    lost = lost_place(after, row.bounds, lambda position: reading.tag_at(ask, row, position))
    return lost if lost is not None else _records(ask, request, row, after)


def _records(ask: Ask, request: ReadRequest, row: StreamRow, after: Boundary) -> ReadOutcome:
    # As many as fit however large they are, but one in any case.
    most = min(request.max_records, max(1, request.max_bytes // max(row.largest, 1)))
    until = min(after.position + most, row.last_position)
    if until <= after.position:
        return Page((), after, more=after.position < row.last_position, seal=row.seal)
    records = [StoredRecord(*record) for record in ask(_RECORDS, row.id, after.position, until)]
    if len(records) < until - after.position:
        # Reclaimed between the two statements.
        return EXPIRED
    end = Boundary(row.incarnation, until, records[-1].tag)
    return Page(records, end, more=until < row.last_position, seal=row.seal)


def _graves(ask: Ask, topics: list[str]) -> dict[str, int]:
    rows = ask(_GRAVES, [topic.encode() for topic in topics])
    return {name.decode(): incarnation for name, incarnation in rows}
