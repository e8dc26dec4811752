"""Items and streams as they stand on the wire: instants as text, an item's document around its payload's own bytes."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from tailrace.workflow.model import Mark, NewItem, Stream

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET = b'{"offset":'
_INSTANT = len("1970-01-01T00:00:00.000000Z")
# The blank is what tells it from a key of the same name in an object before it, which is written without any.
_PAYLOAD = b', "payload":'


def instant(micros: int) -> str:
    """Return an instant as UTC in ISO 8601, with six decimals and ``Z``."""
    return (_EPOCH + timedelta(microseconds=micros)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def micros_of(text: str) -> int:
    """Return the instant that a text says, as ``instant`` makes it."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def item_document(item: NewItem, offset: int, emitted_at: int) -> bytes:
    """Return an item as readers get it. The payload comes last, byte for byte as it was appended."""
    head = {
        "offset": offset,
        "idempotency_key": item.idempotency_key or None,
        "origin": item.origin,
        "origin_reference": item.origin_reference,
        "item_type": item.item_type,
        "content_type": item.content_type,
        "payload_reference": item.payload_reference,
        "payload_codec": item.payload_codec,
        "emitted_at": instant(emitted_at),
    }
    return json.dumps(head, separators=(",", ":")).encode()[:-1] + _PAYLOAD + item.payload + b"}"


def payload_of(document: bytes) -> bytes:
    """Return the payload in a document of an item."""
    # A quotation mark inside of a text is escaped as well, so that this stands nowhere before the payload.
    return document[document.index(_PAYLOAD) + len(_PAYLOAD) : -1]


def mark_of(document: bytes) -> Mark:
    """Return which item is in a document."""
    at = document.index(_PAYLOAD)
    # The last thing before the payload, in quotation marks.
    stamp = document[at - _INSTANT - 1 : at - 1].decode()
    return Mark(int(document[len(_OFFSET) : document.index(b",")]), micros_of(stamp))


def stream_document(stream: Stream) -> Mapping[str, object]:
    """Return a stream as it stands on the wire: exactly ten keys."""
    return {
        "stream_name": stream.stream_name,
        "status": stream.status.value,
        "last_offset": stream.last_offset,
        "total_items": stream.total_items,
        "pending_items": stream.pending_items,
        "opened_at": instant(stream.opened_at),
        "last_appended_at": _optional(stream.last_appended_at),
        "closed_at": _optional(stream.closed_at),
        "error_reason": stream.error_reason,
        "retention_seconds": stream.retention_seconds,
    }


def _optional(micros: int | None) -> str | None:
    return None if micros is None else instant(micros)
