"""Rows of payloads that are kept outside of the database: each tells of one object, and streams claim them.

Whoever has such a row locked is alone with it: a claim and the decision that nobody claims the object any more come one
after the other. An object that is to be deleted loses its name in the same transaction (``doomed``), so that whatever
is uploaded meanwhile is another one, at another address, which no deletion that is still under way can reach.
"""

import enum
from typing import NamedTuple

from tailrace.spi import Ask
from tailrace.workflow.payloads.errors import PayloadsExhaustedError
from tailrace.workflow.payloads.references import Digest
from tailrace.workflow.store.clock import now

_COLUMNS = "id, doomed, namespace, uri, codec, size, sha256, state, uploaded_at, discard_at, attempt_until, {now}"
_FIND = f"SELECT {_COLUMNS} FROM {{workflow_payloads}} WHERE namespace = ? AND name = ? ORDER BY doomed"
_LIVE = f"SELECT {_COLUMNS} FROM {{workflow_payloads}} WHERE namespace = ? AND name = ? AND doomed = 0 {{for_update}}"
_NAMED = f"SELECT {_COLUMNS} FROM {{workflow_payloads}} WHERE namespace = ? AND name = ? {{for_update}}"
_LOCK = f"SELECT {_COLUMNS} FROM {{workflow_payloads}} WHERE id = ? {{for_update}}"

_USED = "SELECT count(*), coalesce(sum(size), 0) FROM {workflow_payloads} WHERE namespace = ? AND doomed = 0"
_AGAIN = """
UPDATE {workflow_payloads} SET uploaded_at = ?, discard_at = CASE WHEN state = 2 THEN NULL ELSE ? END WHERE id = ?
"""
_STORED = "UPDATE {workflow_payloads} SET state = 1 WHERE id = ? AND state = 0"

_NEW = {
    "namespace": bytes,
    "name": bytes,
    "uri": bytes,
    "codec": bytes,
    "size": int,
    "sha256": bytes,
    "state": int,
    "uploaded_at": int,
    "discard_at": int,
}


class State(enum.IntEnum):
    """How far a payload has come."""

    ANNOUNCED = 0
    """Its object is on its way, or was and never came."""

    UPLOADED = 1
    CLAIMED = 2


class PayloadRow(NamedTuple):
    """A payload, in the order of ``_COLUMNS``; and the database's instant at which it was looked at."""

    id: int
    doomed: int
    namespace: bytes
    uri: bytes
    codec: bytes
    size: int
    sha256: bytes
    state: int
    uploaded_at: int
    discard_at: int | None
    attempt_until: int
    now: int

    @property
    def digest(self) -> Digest:
        """What its bytes are."""
        return Digest(self.codec.decode(), self.size, self.sha256.hex())

    def expired(self, grace: int) -> bool:
        """Whether nobody has claimed it in time, whether or not it was removed since."""
        return self.state != State.CLAIMED and self.uploaded_at + grace <= self.now


class Quota(NamedTuple):
    """What a namespace may have."""

    objects: int | None
    bytes: int | None


def find(ask: Ask, namespace: str, name: str) -> PayloadRow | None:
    """Return a payload by its name; one whose object is being deleted only if there is no other."""
    return _first(ask, _FIND, namespace, name)


def announce(
    ask: Ask, namespace: str, name: str, uri: str, digest: Digest, quota: Quota
) -> tuple[PayloadRow, list[str]]:
    """Make the row of a payload before its object is stored, or find it; its grace begins anew.

    First the row: an object without one would never be removed.

    Args:
        uri: Where its object will be, if there is none yet.

    Raises:
        PayloadsExhaustedError: The namespace has no room for another one. Uploads at the same instant may exceed it.
    """
    row = _first(ask, _LIVE, namespace, name)
    if row is None:
        _check_quota(ask, namespace, digest, quota)
        row = _add(ask, namespace, name, uri, digest, State.ANNOUNCED)
    ask.do(_AGAIN, row.now, row.now, row.id)
    return row, []


def register(ask: Ask, namespace: str, uri: str, digest: Digest) -> tuple[PayloadRow | None, list[str]]:
    """Make the row of an object that a producer has stored, or find it; its grace begins anew.

    Returns:
        ``None`` while the object at this address is being deleted: it can have no other one.
    """
    rows = ask(_NAMED, namespace.encode(), uri.encode())
    found = [PayloadRow._make(row) for row in rows]
    if any(row.doomed for row in found):
        return None, []
    row = found[0] if found else _add(ask, namespace, uri, uri, digest, State.UPLOADED)
    ask.do(_AGAIN, row.now, row.now, row.id)
    return row, []


def stored(ask: Ask, payload_id: int) -> tuple[bool, list[str]]:
    """Note that the object is there; return ``False`` if the row was given up meanwhile."""
    row = lock(ask, payload_id)
    if row is None or row.doomed:
        return False, []
    ask.do(_STORED, payload_id)
    return True, []


def lock(ask: Ask, payload_id: int) -> PayloadRow | None:
    """Return a payload that nobody claims, or gives up, before this transaction ends."""
    rows = ask(_LOCK, payload_id)
    return PayloadRow._make(rows[0]) if rows else None


def _first(ask: Ask, statement: str, namespace: str, name: str) -> PayloadRow | None:
    rows = ask(statement, namespace.encode(), name.encode())
    return PayloadRow._make(rows[0]) if rows else None


def _add(ask: Ask, namespace: str, name: str, uri: str, digest: Digest, state: State) -> PayloadRow:
    at = now(ask)
    size, sha256 = digest.size_bytes, bytes.fromhex(digest.sha256)
    new = (namespace.encode(), name.encode(), uri.encode(), digest.codec.encode(), size, sha256, int(state), at, at)
    # Two who come at once both get here; the second one waits for the first, and finds its row.
    ask.add("workflow_payloads", _NEW, [new], if_new=True)
    row = _first(ask, _LIVE, namespace, name)
    assert row is not None
    return row


def _check_quota(ask: Ask, namespace: str, digest: Digest, quota: Quota) -> None:
    if quota == (None, None):
        return
    ((objects, used),) = ask(_USED, namespace.encode())
    if quota.objects is not None and objects >= quota.objects:
        raise PayloadsExhaustedError(f"the namespace has {objects} payloads, as many as it may have")
    if quota.bytes is not None and used + digest.size_bytes > quota.bytes:
        raise PayloadsExhaustedError(f"the namespace may have {quota.bytes} bytes of payloads, and these are too many")
