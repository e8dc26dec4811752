"""Retention, piece by piece: each function is one bounded transaction, and safe beside any number of others.

Rows that somebody else has locked are left to him, or to the next pass.
"""

from typing import NamedTuple

from tailrace.spi import Ask
from tailrace.workflow import rules
from tailrace.workflow.model import Run
from tailrace.workflow.payloads.errors import PayloadUnavailableError
from tailrace.workflow.store import rows, runs

CANDIDATES = 100
"""Streams, or runs, that one look finds."""

CHUNK_ITEMS = 500
"""Items removed in one transaction: whoever waits for it waits for no more than that."""

_EXPIRED = """
SELECT reclaim_at, id FROM {workflow_streams}
WHERE reclaim_at <= ? AND (reclaim_at > ? OR (reclaim_at = ? AND id > ?)) ORDER BY reclaim_at, id LIMIT ?
"""
_RECLAIM = "DELETE FROM {workflow_items} WHERE stream = ? AND position > ? AND position <= ?"
_HORIZON = "UPDATE {workflow_streams} SET horizon_position = ? WHERE id = ?"
_RECLAIMED = """
UPDATE {workflow_streams} SET horizon_position = last_position, reclaim_at = NULL, error_reason = NULL WHERE id = ?
"""
_PUT_OFF = "UPDATE {workflow_streams} SET reclaim_at = ? WHERE id = ?"

_LAPSED = """
SELECT lease_until, id FROM {workflow_streams}
WHERE lease_until <= ? AND (lease_until > ? OR (lease_until = ? AND id > ?)) ORDER BY lease_until, id LIMIT ?
"""
_TOPIC = "SELECT name FROM {workflow_streams} WHERE id = ?"

_ENDED = """
SELECT prune_at, id, namespace, workflow_id, run_id FROM {workflow_runs}
WHERE prune_at <= ? AND (prune_at > ? OR (prune_at = ? AND id > ?)) ORDER BY prune_at, id LIMIT ?
"""
_PUT_OFF_RUN = "UPDATE {workflow_runs} SET prune_at = ? WHERE id = ?"
_STREAMS_OF = "SELECT id, name, incarnation FROM {workflow_streams} WHERE run = ? ORDER BY stream_name"
_DROP_ITEMS = "DELETE FROM {workflow_items} WHERE stream = ?"
_DROP_STREAM = "DELETE FROM {workflow_streams} WHERE id = ?"
_DROP_RUN = "DELETE FROM {workflow_runs} WHERE id = ?"
_CLAIMED = "SELECT 1 FROM {workflow_claims} WHERE stream IN ?? LIMIT 1"
_UNBURY = "DELETE FROM {graves} WHERE name = ?"
_BURY = "INSERT INTO {graves} (name, incarnation, deleted_at) VALUES (?, ?, {stamp})"


class Candidate(NamedTuple):
    """Something whose time has come, and when it had: the order in which a pass takes them."""

    due: int
    id: int


class DueRun(NamedTuple):
    """A run whose time has come."""

    due: int
    id: int
    run: Run


class Reclaimed(NamedTuple):
    """What one transaction removed, and whether nothing is left of the stream but its tombstone."""

    items: int
    done: bool


NONE = Candidate(-(2**62), 0)


def expired(ask: Ask, now: int, after: Candidate) -> list[Candidate]:
    """Return streams that have expired and still hold something, in the order of their deadlines."""
    return [Candidate(*row) for row in ask(_EXPIRED, now, after.due, after.due, after.id, CANDIDATES)]


def reclaim(ask: Ask, stream_id: int, most: int) -> tuple[Reclaimed, list[str]]:
    """Remove items of an expired stream."""
    row = rows.lock_if_free(ask, stream_id)
    if row is None or row.found:
        return Reclaimed(0, done=False), []
    until = min(row.horizon_position + most, row.last_position)
    ask.do(_RECLAIM, row.id, row.horizon_position, until)
    removed, done = until - row.horizon_position, until == row.last_position
    if done:
        ask.do(_RECLAIMED, row.id)
    else:
        ask.do(_HORIZON, until, row.id)
    return Reclaimed(removed, done), []


def put_off(ask: Ask, stream_id: int, until: int) -> tuple[None, list[str]]:
    """Have a stream that could not be reclaimed tried again later, so that it is in nobody's way."""
    ask.do(_PUT_OFF, until, stream_id)
    return None, []


def leases(ask: Ask, now: int, after: Candidate) -> list[Candidate]:
    """Return streams whose producers have not been heard of for too long."""
    return [Candidate(*row) for row in ask(_LAPSED, now, after.due, after.due, after.id, CANDIDATES)]


def end_lapsed(ask: Ask, stream_id: int) -> tuple[str | None, list[str]]:
    """End a stream whose producer is lost, as errored; return its topic, or ``None`` if it is not lost any more."""
    row = rows.lock_if_free(ask, stream_id)
    if row is None:
        return None, []
    before = row.state
    state = rules.lapsed(before, row.now)
    if state is before:
        return None, []
    rows.end(ask, row, state)
    topic: str = ask(_TOPIC, row.id)[0][0].decode()
    return topic, [topic]


def ended_runs(ask: Ask, until: int, after: Candidate) -> list[DueRun]:
    """Return runs that ended no later than that."""
    found = ask(_ENDED, until, after.due, after.due, after.id, CANDIDATES)
    return [
        DueRun(due, number, Run(namespace.decode(), workflow.decode(), run.decode()))
        for due, number, namespace, workflow, run in found
    ]


def put_off_run(ask: Ask, run_id: int, until: int) -> tuple[None, list[str]]:
    """Have a run that could not be removed tried again later."""
    ask.do(_PUT_OFF_RUN, until, run_id)
    return None, []


def delete_run(ask: Ask, run: Run, only: int | None = None) -> tuple[bool, list[str]]:
    """Remove a run with its streams, items and tombstones; return whether it was there.

    In one transaction, which holds the run: nobody opens a stream in it meanwhile.

    Args:
        only: The id of the row that is meant: another run may have begun since under the same name.

    Raises:
        PayloadUnavailableError: A stream of it claims a payload, perhaps only since its objects were deleted.
    """
    row = runs.lock(ask, run)
    if row is None or only not in (None, row.id):
        return False, []
    topics = []
    streams = ask(_STREAMS_OF, row.id)
    # Each by its id, and before its items: that waits for whoever is appending to it, and nobody does any more. To lock
    # them all by their run might wait for streams of others: few rows are read from end to end, locks and all.
    for stream, _, _ in streams:
        ask.do(_DROP_STREAM, stream)
    for first in range(0, len(streams), CANDIDATES):
        if ask(_CLAIMED, [stream for stream, _, _ in streams[first : first + CANDIDATES]]):
            raise PayloadUnavailableError("an item that refers to a payload was appended meanwhile")
    for stream, name, incarnation in streams:
        ask.do(_DROP_ITEMS, stream)
        # For readers who still wait: a stream of that name in a run of that id would be another one.
        ask.do(_UNBURY, name)
        ask.do(_BURY, name, incarnation)
        topics.append(name.decode())
    ask.do(_DROP_RUN, row.id)
    return True, topics
