"""Claims of streams on payloads: made with the items that refer to them, given up before these go."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tailrace.spi import Ask
from tailrace.workflow.payloads.errors import PayloadError, PayloadExpiredError
from tailrace.workflow.store import payloads
from tailrace.workflow.store.holds import held
from tailrace.workflow.store.payloads import State
from tailrace.workflow.store.retention import CANDIDATES, Candidate

_COLUMNS = "id, doomed, state, uploaded_at"
_LOCK_ALL = f"SELECT {_COLUMNS} FROM {{workflow_payloads}} WHERE id IN ?? ORDER BY id {{for_update}}"
_CLAIM = "UPDATE {workflow_payloads} SET state = 2, discard_at = NULL WHERE id IN ?? AND state <> 2"
_NEW_CLAIM = {"stream": int, "payload": int}

_OF_STREAM = "SELECT payload FROM {workflow_claims} WHERE stream = ? ORDER BY payload LIMIT ?"
_OF_RUN = """
SELECT c.payload, c.stream FROM {workflow_claims} c JOIN {workflow_streams} s ON c.stream = s.id
WHERE s.run = ? ORDER BY c.payload, c.stream LIMIT ?
"""
_ELSEWHERE = "SELECT 1 FROM {workflow_claims} WHERE payload = ? AND stream <> ? LIMIT 1"
_DROP_CLAIM = "DELETE FROM {workflow_claims} WHERE stream = ? AND payload = ?"
_DROP_CLAIMS = "DELETE FROM {workflow_claims} WHERE payload = ?"
_UNCLAIM = "UPDATE {workflow_payloads} SET state = 1, discard_at = ? WHERE id = ?"
_DOOM = "UPDATE {workflow_payloads} SET doomed = id, attempt_until = ? WHERE id = ?"
_ATTEMPTED = "UPDATE {workflow_payloads} SET attempt_until = 0 WHERE id = ?"
_DROP = "DELETE FROM {workflow_payloads} WHERE id = ?"
_DISCARDABLE = """
SELECT discard_at, id FROM {workflow_payloads}
WHERE discard_at <= ? AND (discard_at > ? OR (discard_at = ? AND id > ?)) ORDER BY discard_at, id LIMIT ?
"""
_PUT_OFF = "UPDATE {workflow_payloads} SET discard_at = ? WHERE id = ? AND discard_at IS NOT NULL"

NOBODY = 0
"""No stream has this id."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What an item needs of a payload, as it was found before the transaction.

    Attributes:
        payload: Id of its row; 0 if there is a problem.
        problem: Why the item can not be stored, if it is new: a repeated one is answered all the same.
    """

    payload: int
    problem: PayloadError | None = None


class Found(enum.Enum):
    """What is to be done about the object of a payload that one stream needs no longer."""

    NEEDED = enum.auto()
    """Nothing: others refer to it, or it was uploaded so lately that somebody may be about to."""

    HELD = enum.auto()
    """Nothing yet: there is a hold on its namespace."""

    BUSY = enum.auto()
    """Nothing: somebody else is at it."""

    DOOMED = enum.auto()
    """It is to be deleted, and nobody can claim it any more."""


class Fate(NamedTuple):
    """What was found about a payload, and where its object is."""

    found: Found
    uri: str = ""
    namespace: str = ""


def claim(ask: Ask, stream_id: int, wanted: Sequence[Claim], now: int, grace: int) -> None:
    """Claim payloads for a stream whose row is locked, inside of the transaction that appends to it.

    Raises:
        PayloadError: One can not be had. The transaction has to be rolled back, and the claims with it.
    """
    for one in wanted:
        if one.problem is not None:
            raise one.problem
    ids = sorted({one.payload for one in wanted})
    if not ids:
        return
    # In one order, so that two who claim the same ones wait for each other in turn.
    found = ask(_LOCK_ALL, ids)
    lost = [
        uploaded_at
        for _, doomed, state, uploaded_at in found
        if doomed or (state != State.CLAIMED and uploaded_at + grace <= now)
    ]
    if lost or len(found) < len(ids):
        raise PayloadExpiredError("a payload was not claimed in time and is being removed: upload it again")
    ask.do(_CLAIM, ids)
    ask.add("workflow_claims", _NEW_CLAIM, [(stream_id, payload) for payload in ids], if_new=True)


def of_stream(ask: Ask, stream_id: int, most: int) -> list[tuple[int, int]]:
    """Return payloads that a stream claims, each with the stream."""
    return [(payload, stream_id) for (payload,) in ask(_OF_STREAM, stream_id, most)]


def of_run(ask: Ask, run_id: int, most: int) -> list[tuple[int, int]]:
    """Return payloads that streams of a run claim, each with the stream."""
    return [(payload, stream) for payload, stream in ask(_OF_RUN, run_id, most)]


def give_up(ask: Ask, payload_id: int, stream_id: int, grace: int, attempt: int) -> tuple[Fate, list[str]]:
    """Take back the claim of a stream, unless it is the last one: then the object has to go first.

    Args:
        stream_id: ``NOBODY`` for a payload that nobody has claimed.
        attempt: Microseconds after which an attempt to delete is taken for given up.
    """
    row = payloads.lock(ask, payload_id)
    if row is None:
        ask.do(_DROP_CLAIM, stream_id, payload_id)
        return Fate(Found.NEEDED), []
    uri, namespace = row.uri.decode(), row.namespace.decode()
    if not row.doomed:
        if ask(_ELSEWHERE, payload_id, stream_id):
            ask.do(_DROP_CLAIM, stream_id, payload_id)
            return Fate(Found.NEEDED), []
        if row.uploaded_at + grace > row.now:
            # Whoever has uploaded it again may be about to refer to it.
            ask.do(_DROP_CLAIM, stream_id, payload_id)
            ask.do(_UNCLAIM, row.uploaded_at, payload_id)
            return Fate(Found.NEEDED), []
    elif row.attempt_until > row.now:
        return Fate(Found.BUSY), []
    if held(ask, namespace):
        return Fate(Found.HELD, uri, namespace), []
    ask.do(_DOOM, row.now + attempt, payload_id)
    return Fate(Found.DOOMED, uri, namespace), []


def attempted(ask: Ask, payload_id: int) -> tuple[None, list[str]]:
    """Note that an attempt to delete has ended, in vain."""
    ask.do(_ATTEMPTED, payload_id)
    return None, []


def drop(ask: Ask, payload_id: int) -> tuple[None, list[str]]:
    """Remove the row of a payload whose object is gone, and the last claim on it."""
    ask.do(_DROP_CLAIMS, payload_id)
    ask.do(_DROP, payload_id)
    return None, []


def discardable(ask: Ask, until: int, after: Candidate) -> list[Candidate]:
    """Return payloads that nobody claims, uploaded no later than that."""
    return [Candidate(*row) for row in ask(_DISCARDABLE, until, after.due, after.due, after.id, CANDIDATES)]


def put_off(ask: Ask, payload_id: int, until: int) -> tuple[None, list[str]]:
    """Have a payload that could not be discarded tried again later."""
    ask.do(_PUT_OFF, until, payload_id)
    return None, []
