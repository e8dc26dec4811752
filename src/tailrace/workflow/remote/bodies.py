"""What the bodies of answers say, as the words of ``model``.

What makes no sense raises ``ValueError``, ``LookupError`` or ``TypeError``.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tailrace.workflow.documents import item_document, micros_of
from tailrace.workflow.model import Appended, ItemPage, NewItem, Run, RunInfo, Status, Stream
from tailrace.workflow.remote.rawjson import elements, members

_HEAD = ("offset", "idempotency_key", "origin", "origin_reference", "item_type", "content_type", "payload_reference",
    "payload_codec", "emitted_at")  # fmt: skip


def stream(body: bytes) -> Stream:
    """Return the one stream that an answer is about."""
    return _stream(_object(json.loads(body)["stream"]))


def streams(body: bytes) -> Sequence[Stream]:
    """Return all streams of an answer."""
    return [_stream(_object(found)) for found in json.loads(body)["streams"]]


def appended(body: bytes, count: int) -> Appended:
    """Return what an append of so many items came to."""
    answer = _object(json.loads(body))
    offsets = [_integer(offset) for offset in answer["accepted_offsets"]]
    if len(offsets) != count:
        raise ValueError("it answers about more items than were sent, or fewer")
    return Appended(
        _stream(_object(answer["stream"])), offsets, _integer(answer["accepted"]), _integer(answer["deduped"])
    )


def page(body: bytes, from_offset: int) -> ItemPage:
    """Return a page of items that begins at an offset; each payload as it was written."""
    answer = members(body.decode())
    documents = [_document(text) for text in elements(answer["items"])]
    for index, (offset, _) in enumerate(documents):
        if offset != from_offset + index:
            raise ValueError("there is a hole in the items")
    next_offset = _integer(json.loads(answer["next_offset"]))
    if next_offset != from_offset + len(documents):
        raise ValueError("the items do not lead to the next offset")
    return ItemPage(
        _stream(_object(json.loads(answer["stream"]))),
        [document for _, document in documents],
        next_offset,
        json.loads(answer["terminal"]) is True,
    )


def run_info(body: bytes, namespace: str) -> RunInfo:
    """Return the run that an answer is about."""
    answer = _object(json.loads(body))
    return RunInfo(
        run=Run(namespace, _text(answer["workflow_id"]), _text(answer["run_id"])),
        registered=answer.get("registered", True) is True,
        started_at=micros_of(_text(answer["started_at"])),
        workflow_type=_optional_text(answer.get("workflow_type")),
        task_queue=_optional_text(answer.get("task_queue")),
        ended_at=_moment(answer.get("closed_at")),
    )


def deleted(body: bytes) -> bool:
    """Return whether there was something to delete."""
    answer = json.loads(body) if body.strip() else {}
    return _object(answer).get("deleted", True) is True


def _document(text: str) -> tuple[int, bytes]:
    item = members(text)
    head = {name: json.loads(item.get(name, "null")) for name in _HEAD}
    offset, emitted_at = _integer(head.pop("offset")), micros_of(_text(head.pop("emitted_at")))
    # As documents are stored, whatever the order of the keys here: there the payload is found.
    return offset, item_document(NewItem(payload=item.get("payload", "null").encode(), **head), offset, emitted_at)


def _stream(found: Mapping[str, Any]) -> Stream:
    return Stream(
        stream_name=_text(found["stream_name"]),
        status=Status(found["status"]),
        last_offset=_integer(found["last_offset"]),
        total_items=_integer(found["total_items"]),
        pending_items=_integer(found["pending_items"]),
        opened_at=micros_of(_text(found["opened_at"])),
        last_appended_at=_moment(found["last_appended_at"]),
        closed_at=_moment(found["closed_at"]),
        error_reason=_optional_text(found["error_reason"]),
        retention_seconds=None if found["retention_seconds"] is None else _integer(found["retention_seconds"]),
    )


def _moment(value: object) -> int | None:
    return None if value is None else micros_of(_text(value))


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("an object is missing")
    return value


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("a whole number is missing")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is missing")
    return value


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)
