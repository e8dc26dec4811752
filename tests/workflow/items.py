"""Items, and what is in a stream, in few words."""

import json
from collections.abc import Iterable
from typing import Any

from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import NewItem, StreamRef


def item(value: object = None, key: str | None = None, **more: Any) -> NewItem:
    """Return an item with a payload."""
    return NewItem(payload=json.dumps(value).encode(), idempotency_key=key, **more)


def items(values: Iterable[object]) -> list[NewItem]:
    """Return items without keys."""
    return [item(value) for value in values]


def keyed(*keys: str) -> list[NewItem]:
    """Return items whose payloads are their keys."""
    return [item(key, key) for key in keys]


def documents(service: EmbeddedService, stream: StreamRef, from_offset: int = 0) -> list[dict[str, Any]]:
    """Return all items from an offset on, as readers get them."""
    found: list[dict[str, Any]] = []
    while True:
        page = service.subscribe(stream, from_offset=from_offset, max_items=500)
        if not page.documents:
            return found
        found += [json.loads(document) for document in page.documents]
        from_offset = page.next_offset


def payloads(service: EmbeddedService, stream: StreamRef, from_offset: int = 0) -> list[Any]:
    """Return what all items from an offset on carry."""
    return [document["payload"] for document in documents(service, stream, from_offset)]
