"""Appending: one transaction in which a stream is locked, the rules decide, and what is new is stored.

Whoever has the row of the stream locked is alone with it: two writers near the cap, and two who open it at once, come
one after the other, and the second one decides on what the first one has committed.
"""

from collections.abc import Sequence

from tailrace.spi import Ask
from tailrace.spi.identities import random_incarnation, random_tag
from tailrace.workflow import rules
from tailrace.workflow.batch import Batch
from tailrace.workflow.documents import item_document
from tailrace.workflow.model import UNDELIVERED, Appended, Mark, StreamRef
from tailrace.workflow.rules import Stored
from tailrace.workflow.store import rows, runs
from tailrace.workflow.store.claims import Claim, claim
from tailrace.workflow.store.clock import now
from tailrace.workflow.store.rows import StreamRow

_KNOWN = "SELECT idempotency_key, position, digest FROM {workflow_items} WHERE stream = ? AND idempotency_key IN ??"

_NEW_STREAM = {"run": int, "stream_name": bytes, "name": bytes, "incarnation": int, "opened_at": int}
_NEW_ITEM = {
    "stream": int,
    "position": int,
    "tag": int,
    "idempotency_key": bytes,
    "digest": bytes,
    "document": bytes,
}


def append(
    ask: Ask,
    stream: StreamRef,
    batch: Batch,
    *,
    cap: int,
    lease_seconds: int | None = None,
    delivered: Mark = UNDELIVERED,
    create_run: bool = True,
    claims: Sequence[Sequence[Claim]] = (),
    upload_grace: int = 0,
) -> tuple[Appended, list[str]]:
    """Append a batch inside of a transaction; return what it came to, and the topic if it moved.

    Args:
        cap: Undelivered items at most.
        delivered: Item up to which this process has delivered, if the row does not say so yet.
        create_run: Whether a run that there is not begins with this.
        claims: Payloads that each item refers to. Those of new ones are claimed, once there is room for these: what is
            refused has claimed nothing.
        upload_grace: Microseconds that a payload may wait to be claimed.

    Raises:
        WorkflowStreamError: It was refused. The transaction has to be rolled back: nothing of it may stay.
    """
    row = rows.lock(ask, stream.topic) or _open(ask, stream, create_run=create_run)
    known = _known(ask, row, batch)
    before = rules.delivered(row.state, delivered)
    decision = rules.append(before, batch.proposed, known, cap, row.now, lease_seconds)
    state = decision.state
    if decision.new:
        if claims:
            claim(ask, row.id, [one for index in decision.new for one in claims[index]], row.now, upload_grace)
        _store(ask, row, batch, decision)
    elif state.lease_until != row.lease_until:
        rows.renew(ask, row, state)
    outcome = Appended(
        rows.stream_of(row.stream_name, state),
        decision.offsets,
        len(decision.new),
        len(decision.offsets) - len(decision.new),
    )
    return outcome, [stream.topic] if decision.new else []


def _open(ask: Ask, stream: StreamRef, *, create_run: bool) -> StreamRow:
    """Make the row of a stream, or wait for somebody who does; return it locked."""
    # Nobody can remove the run from here on, so that no stream is left without one.
    run = runs.share(ask, stream.run, create=create_run)
    new = (run, stream.name.encode(), stream.topic.encode(), random_incarnation(), now(ask))
    ask.add("workflow_streams", _NEW_STREAM, [new], if_new=True)
    row = rows.lock(ask, stream.topic)
    assert row is not None
    return row


def _known(ask: Ask, row: StreamRow, batch: Batch) -> dict[str, Stored]:
    keys = batch.keys
    if not keys or not row.last_position:
        return {}
    return {key.decode(): Stored(position - 1, digest) for key, position, digest in ask(_KNOWN, row.id, keys)}


def _store(ask: Ask, row: StreamRow, batch: Batch, decision: rules.Decision) -> None:
    state, tag = decision.state, random_tag()
    assert state.last_appended_at is not None
    items = []
    for index in decision.new:
        item, proposed, offset = batch.items[index], batch.proposed[index], decision.offsets[index]
        document = item_document(item, offset, state.last_appended_at)
        key = None if proposed.key is None else proposed.key.encode()
        items.append((row.id, offset + 1, tag, key, proposed.digest, document))
    rows.grow(ask, row, state, tag, max(len(document) for *_, document in items))
    ask.add("workflow_items", _NEW_ITEM, items)
