"""The row of a stream: finding it, locking it, and what it says as a state of the rules."""

from typing import NamedTuple

from tailrace.spi import Ask, Boundary, Bounds, Seal
from tailrace.spi.relational import Rows
from tailrace.workflow.model import Status, Stream
from tailrace.workflow.rules import State

COLUMNS = (
    "id, run, stream_name, incarnation, horizon_position, last_position, last_tag, largest, sealed, pending, "
    "opened_at, last_appended_at, closed_at, error_reason, retention_seconds, expires_at, lease_until"
)

_FIND = f"SELECT {COLUMNS}, {{now}} FROM {{workflow_streams}} WHERE name = ?"
_LOCK = f"{_FIND} {{for_update}}"
_LOCK_BY_ID = f"SELECT {COLUMNS}, {{now}} FROM {{workflow_streams}} WHERE id = ? {{skip_locked}}"
_FIND_ALL = f"SELECT {COLUMNS}, {{now}}, name FROM {{workflow_streams}} WHERE name IN ??"
_END = """
UPDATE {workflow_streams} SET sealed = ?, closed_at = ?, error_reason = ?, retention_seconds = ?, expires_at = ?,
    reclaim_at = ?, lease_until = ? {moved} WHERE id = ?
"""
_GROW = """
UPDATE {workflow_streams} SET last_position = ?, last_tag = ?, largest = ?, pending = ?, last_appended_at = ?,
    lease_until = ? {moved} WHERE id = ?
"""
_RENEW = "UPDATE {workflow_streams} SET lease_until = ? WHERE id = ?"

_STATUSES = (Status.OPEN, Status.CLOSED, Status.ERRORED)


class StreamRow(NamedTuple):
    """A stream, in the order of ``COLUMNS``; and the database's instant at which it was looked at.

    Attributes:
        id: Never used again.
        last_position: Of the last item in the engine's counting: its offset plus one. Items are dense, and are only
            ever removed together, so that this is how many there are.
    """

    id: int
    run: int
    stream_name: bytes
    incarnation: int
    horizon_position: int
    last_position: int
    last_tag: int
    largest: int
    sealed: int
    pending: int
    opened_at: int
    last_appended_at: int | None
    closed_at: int | None
    error_reason: bytes | None
    retention_seconds: int | None
    expires_at: int | None
    lease_until: int | None
    now: int

    @property
    def found(self) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or self.now < self.expires_at

    @property
    def state(self) -> State:
        """The stream, as the rules know it."""
        return State(
            status=_STATUSES[self.sealed],
            last_offset=self.last_position - 1,
            total_items=self.last_position,
            pending_items=self.pending,
            opened_at=self.opened_at,
            last_appended_at=self.last_appended_at,
            closed_at=self.closed_at,
            error_reason=None if self.error_reason is None else self.error_reason.decode(),
            retention_seconds=self.retention_seconds,
            expires_at=self.expires_at,
            lease_until=self.lease_until,
        )

    @property
    def seal(self) -> Seal | None:
        """Its end, as the engine knows it."""
        if not self.sealed:
            return None
        return Seal(None if self.error_reason is None else self.error_reason.decode())

    @property
    def bounds(self) -> Bounds:
        """Where it stands, as the engine knows it."""
        tail = Boundary(self.incarnation, self.last_position, self.last_tag)
        return Bounds(Boundary(self.incarnation, 0, 0), tail, self.seal)


def stream_of(name: bytes, state: State) -> Stream:
    """Return a stream as operations answer with it."""
    return Stream(
        stream_name=name.decode(),
        status=state.status,
        last_offset=state.last_offset,
        total_items=state.total_items,
        pending_items=state.pending_items,
        opened_at=state.opened_at,
        last_appended_at=state.last_appended_at,
        closed_at=state.closed_at,
        error_reason=state.error_reason,
        retention_seconds=state.retention_seconds,
    )


def find(ask: Ask, topic: str) -> StreamRow | None:
    """Return a stream, expired or not."""
    return _only(ask(_FIND, topic.encode()))


def find_all(ask: Ask, topics: list[str]) -> dict[str, StreamRow]:
    """Return those of the streams that there are."""
    rows = ask(_FIND_ALL, [topic.encode() for topic in topics])
    return {name.decode(): StreamRow._make(columns) for *columns, name in rows}


def lock(ask: Ask, topic: str) -> StreamRow | None:
    """Return a stream, expired or not, that nobody else changes before this transaction ends."""
    return _only(ask(_LOCK, topic.encode()))


def lock_if_free(ask: Ask, stream_id: int) -> StreamRow | None:
    """Like ``lock``; ``None`` also if somebody else has it."""
    return _only(ask(_LOCK_BY_ID, stream_id))


def grow(ask: Ask, row: StreamRow, state: State, tag: int, largest: int) -> None:
    """Note what was appended."""
    ask.do(
        _GROW,
        state.last_offset + 1,
        tag,
        max(row.largest, largest),
        state.pending_items,
        state.last_appended_at,
        state.lease_until,
        row.id,
    )


def renew(ask: Ask, row: StreamRow, state: State) -> None:
    """Note that the producer was heard of. Nobody else has to hear of it."""
    ask.do(_RENEW, state.lease_until, row.id)


def end(ask: Ask, row: StreamRow, state: State) -> None:
    """Note an end."""
    ask.do(
        _END,
        _STATUSES.index(state.status),
        state.closed_at,
        None if state.error_reason is None else state.error_reason.encode(),
        state.retention_seconds,
        state.expires_at,
        # When its items are to be reclaimed: apart from the deadline, which stands for ever.
        state.expires_at,
        state.lease_until,
        row.id,
    )


def _only(rows: Rows) -> StreamRow | None:
    return StreamRow._make(rows[0]) if rows else None
