"""What may happen to a stream: its state and what is asked for go in, a decision comes out. No SQL, no clock, no I/O.

Every store runs these inside the transaction that has the stream's row locked, with the database's own instant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tailrace.workflow.bounds import DEFAULT_RETENTION_SECONDS
from tailrace.workflow.errors import (
    IdempotencyConflictError,
    StreamClosedError,
    StreamErroredError,
    StreamFullError,
    StreamNotFoundError,
)
from tailrace.workflow.model import SECOND, Mark, Status

PRODUCER_LOST = "producer lost"
"""The reason of a stream whose producer has let its lease lapse."""

NOT_FOUND = "this stream was never opened in this run, or has expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Where a stream stands.

    Attributes:
        expires_at: From this instant on it is not found; ``None`` while it is open.
        lease_until: Until when its producer has to be heard of again; ``None`` if nobody waits for it.
    """

    opened_at: int
    status: Status = Status.OPEN
    last_offset: int = -1
    total_items: int = 0
    pending_items: int = 0
    last_appended_at: int | None = None
    closed_at: int | None = None
    error_reason: str | None = None
    retention_seconds: int | None = None
    expires_at: int | None = None
    lease_until: int | None = None

    def found_at(self, now: int) -> bool:
        """Whether the stream is there at an instant, swept or not."""
        return self.expires_at is None or now < self.expires_at


@dataclass(frozen=True, slots=True)
class Proposed:
    """What counts of an item: its key, ``None`` for none, and a digest of its payload."""

    key: str | None
    digest: bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """The item that has a key already."""

    offset: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a batch.

    Attributes:
        state: Of the stream afterwards.
        offsets: One per item.
        new: Indexes of the items to store, in order: at offsets that follow each other.
    """

    state: State
    offsets: Sequence[int]
    new: Sequence[int]


def append(
    state: State | None,
    items: Sequence[Proposed],
    known: Mapping[str, Stored],
    cap: int,
    now: int,
    lease_seconds: int | None = None,
) -> Decision:
    """Decide about a batch as a whole: duplicates first, then the stream's end, then its capacity.

    Args:
        state: ``None`` if the stream was never opened.
        known: Items of the stream by key, for the keys of the batch.
        cap: Undelivered items at most.
        now: The instant of the decision.
        lease_seconds: If its producer is to be waited for no longer than that.

    Raises:
        StreamNotFoundError: It has expired.
        IdempotencyConflictError: A key comes with another payload than before, or than elsewhere in the batch.
        StreamClosedError, StreamErroredError: It has ended, and something is new.
        StreamFullError: There is no room for all that is new.
    """
    if state is not None and not state.found_at(now):
        raise StreamNotFoundError(NOT_FOUND)
    before = state or State(opened_at=now)
    seen = dict(known)
    offsets: list[int] = []
    new: list[int] = []
    for index, item in enumerate(items):
        old = None if item.key is None else seen.get(item.key)
        if old is not None:
            if old.digest != item.digest:
                raise IdempotencyConflictError(
                    f"items.{index}: this idempotency key was used before with another payload",
                    {"item": index},
                )
            offsets.append(old.offset)
            continue
        offset = before.last_offset + 1 + len(new)
        if item.key is not None:
            seen[item.key] = Stored(offset, item.digest)
        offsets.append(offset)
        new.append(index)
    if not new:
        # A retry of what was done: answered whatever came since, so that the task that sends it goes on.
        return Decision(before if lease_seconds is None else leased(before, lease_seconds, now), offsets, new)
    if before.status is not Status.OPEN:
        raise _ended(before)
    if before.pending_items + len(new) > cap:
        raise StreamFullError(before.pending_items, cap)
    after = replace(
        before,
        last_offset=before.last_offset + len(new),
        total_items=before.total_items + len(new),
        pending_items=before.pending_items + len(new),
        last_appended_at=max(now, before.last_appended_at or 0),
    )
    return Decision(after if lease_seconds is None else leased(after, lease_seconds, now), offsets, new)


def end(state: State | None, error_reason: str | None, retention_seconds: int | None, now: int) -> State:
    """Decide about a close, or an error if there is a reason: the first one stands.

    Raises:
        StreamNotFoundError: The stream was never opened, or has expired.
    """
    if state is None or not state.found_at(now):
        raise StreamNotFoundError(NOT_FOUND)
    if state.status is not Status.OPEN:
        return state
    seconds = DEFAULT_RETENTION_SECONDS if retention_seconds is None else retention_seconds
    # Never before what it holds, whatever the clock has done.
    closed_at = max(now, state.last_appended_at or 0)
    return replace(
        state,
        status=Status.CLOSED if error_reason is None else Status.ERRORED,
        closed_at=closed_at,
        error_reason=error_reason,
        retention_seconds=seconds,
        expires_at=closed_at + seconds * SECOND,
        lease_until=None,
    )


def leased(state: State, lease_seconds: int, now: int) -> State:
    """Return the state in which the producer was just heard of. A stream that has ended waits for nobody."""
    if state.status is not Status.OPEN:
        return state
    return replace(state, lease_until=now + lease_seconds * SECOND)


def renewed(state: State | None, lease_seconds: int, now: int) -> State:
    """Decide about a sign of life.

    Raises:
        StreamNotFoundError: The stream was never opened, or has expired.
        StreamClosedError, StreamErroredError: It has ended, perhaps because the lease had lapsed.
    """
    if state is None or not state.found_at(now):
        raise StreamNotFoundError(NOT_FOUND)
    if state.status is not Status.OPEN:
        raise _ended(state)
    return leased(state, lease_seconds, now)


def lapsed(state: State, now: int) -> State:
    """Return the state after the store looked for producers that are lost: the same one if this one is not."""
    if state.status is not Status.OPEN or state.lease_until is None or now < state.lease_until:
        return state
    return end(state, PRODUCER_LOST, None, now)


def delivered(state: State, last: Mark) -> State:
    """Return the state after a delivery that ended with this item: only one up to the head counts."""
    return replace(state, pending_items=0) if last == (state.last_offset, state.last_appended_at) else state


def terminal(state: State, next_offset: int) -> bool:
    """Whether nothing will ever follow at an offset."""
    return state.status is not Status.OPEN and next_offset > state.last_offset


def _ended(state: State) -> StreamClosedError | StreamErroredError:
    if state.status is Status.ERRORED:
        return StreamErroredError("the stream has ended with an error: nothing can be appended")
    return StreamClosedError("the stream is closed: nothing can be appended")
