"""Items as people see them: Python values go in, values and the raw JSON come out. No I/O, the same in both colours."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tailrace.errors import InvalidArgumentError, InvalidTypeError
from tailrace.workflow.documents import micros_of, payload_of
from tailrace.workflow.model import ItemPage, NewItem, Origin, Stream

_EMPTY = b"null"


@dataclass(frozen=True, kw_only=True)
class Item:
    """One item of a stream.

    Attributes:
        offset: Its place, from 0, without holes.
        payload_json: JSON text, exactly as it was appended.
        idempotency_key: ``None``: it has none.
        emitted_at: When it was stored: microseconds since the epoch, by the clock of the database.
    """

    offset: int
    payload_json: str
    idempotency_key: str | None = None
    origin: str = Origin.EXTERNAL
    origin_reference: str | None = None
    item_type: str | None = None
    content_type: str | None = None
    payload_reference: str | Mapping[str, Any] | None = None
    payload_codec: str | None = None
    emitted_at: int = 0

    @cached_property
    def payload(self) -> Any:  # noqa: ANN401 - any JSON value
        """The payload as a Python value."""
        return json.loads(self.payload_json)

    @property
    def next_offset(self) -> int:
        """The checkpoint once this item is dealt with."""
        return self.offset + 1

    def __repr__(self) -> str:
        # Without its payload: that is somebody's data, and may be long.
        return f"<Item {self.offset}, {len(self.payload_json)} characters>"


@dataclass(frozen=True, slots=True)
class Page:
    """Items of a stream, in order and without a hole.

    Attributes:
        stream: At the moment of the read.
        next_offset: Where to go on; the offset that was asked for if there are no items.
        terminal: Whether nothing will ever follow.
    """

    stream: Stream
    items: Sequence[Item]
    next_offset: int
    terminal: bool


def item_from(document: bytes) -> Item:
    """Return what a document of the wire contract says, as ``item_document`` makes it."""
    payload = payload_of(document)
    head = json.loads(document[: len(document) - len(payload) - 1] + _EMPTY + b"}")
    return Item(
        offset=head["offset"],
        payload_json=payload.decode(),
        idempotency_key=head["idempotency_key"],
        origin=head["origin"],
        origin_reference=head["origin_reference"],
        item_type=head["item_type"],
        content_type=head["content_type"],
        payload_reference=head["payload_reference"],
        payload_codec=head["payload_codec"],
        emitted_at=micros_of(head["emitted_at"]),
    )


def page_from(page: ItemPage) -> Page:
    """Return a page with its items taken apart."""
    return Page(page.stream, [item_from(document) for document in page.documents], page.next_offset, page.terminal)


def json_of(payload: object) -> bytes:
    """Return a value as JSON text.

    Raises:
        InvalidTypeError: JSON has no such value.
        InvalidArgumentError: It holds NaN, an infinity, itself, or a lone surrogate.
    """
    try:
        text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except TypeError as exc:
        raise InvalidTypeError(f"a payload must be a JSON value: {exc}") from exc
    except (ValueError, RecursionError) as exc:
        # Its message may quote the payload.
        raise InvalidArgumentError("a payload must be a JSON value: no NaN, no cycle, no lone surrogate") from exc


def new_items(
    payloads: Iterable[object],
    *,
    keys: Sequence[str | None] | None = None,
    item_type: str | None = None,
    content_type: str | None = None,
) -> Sequence[NewItem]:
    """Return payloads as items to append: each is a JSON value, or a ``NewItem`` that is taken as it is.

    Raises:
        InvalidTypeError: ``payloads`` is a text, or a mapping: that is one payload, not several.
        InvalidArgumentError: There are not as many keys as payloads; or as ``json_of``.
    """
    if isinstance(payloads, str | bytes | bytearray | Mapping) or not isinstance(payloads, Iterable):
        raise InvalidTypeError(f"payloads must be a list of them, not {type(payloads).__name__}")
    values = list(payloads)
    if keys is not None and (isinstance(keys, str) or len(keys) != len(values)):
        raise InvalidArgumentError("there must be as many keys as payloads")
    items = []
    for index, value in enumerate(values):
        if isinstance(value, NewItem):
            if keys is not None:
                raise InvalidArgumentError("a NewItem brings its own key")
            items.append(value)
            continue
        items.append(
            NewItem(
                payload=json_of(value),
                idempotency_key=None if keys is None else keys[index],
                origin=Origin.EXTERNAL,
                item_type=item_type,
                content_type=content_type,
            )
        )
    return items
