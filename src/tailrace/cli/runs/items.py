"""Items on standard output: one on a line, with the payload as it was appended."""

import json
import sys

from tailrace.workflow.documents import instant
from tailrace.workflow.items import Item


def write(item: Item, *, as_json: bool) -> None:
    """Write one item."""
    # In JSON a line end can only stand between two words, where a space does as well.
    payload = item.payload_json.replace("\r", " ").replace("\n", " ")
    line = f'{_head(item)[:-1]}, "payload": {payload}}}' if as_json else payload
    sys.stdout.buffer.write(line.encode() + b"\n")


def _head(item: Item) -> str:
    return json.dumps(
        {
            "offset": item.offset,
            "idempotency_key": item.idempotency_key,
            "origin": item.origin,
            "origin_reference": item.origin_reference,
            "item_type": item.item_type,
            "content_type": item.content_type,
            "payload_reference": item.payload_reference,
            "payload_codec": item.payload_codec,
            "emitted_at": instant(item.emitted_at),
        }
    )
