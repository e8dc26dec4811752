"""The bounds of every field: what is still taken, what is not, and the call that it stands in."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.workflow.items import item, items

from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import NewItem, Run, StreamRef


class Bound(NamedTuple):
    """What is still taken, what is not, and what the refusal names."""

    taken: list[object]
    refused: list[object]
    field: str
    call: Callable[[EmbeddedService, StreamRef, Any], object]


def _text(most: int, least: int = 0) -> tuple[list[object], list[object]]:
    taken: list[object] = ["x" * most, "🌊" * most, " ", "a\u2028b"]
    refused: list[object] = [
        "x" * (most + 1),
        "🌊" * (most + 1),
        "a\0",
        "\x1f",
        "a\x7f",
        "\x9f",
        "a\udcff",
        7,
        b"x",
        ["x"],
    ]
    (refused if least else taken).append("")
    return taken, refused


def _ids() -> tuple[list[object], list[object]]:
    taken, refused = _text(191, 1)
    return taken, [value for value in refused if isinstance(value, str)]


def _whole(least: int, most: int) -> tuple[list[object], list[object]]:
    return [least, most], [least - 1, most + 1, 2**63, -(2**70), float(least), str(least), True, None]


def _of_item(field: str, taken: list[object], refused: list[object]) -> Bound:
    return Bound(taken, refused, f"items.1.{field}", lambda s, ref, v: s.append(ref, [item(0), item(1, **{field: v})]))


def _item_text(field: str, most: int) -> Bound:
    taken, refused = _text(most)
    return _of_item(field, [*taken, None], refused)


def deep(levels: int) -> dict[str, Any]:
    """Return objects in objects."""
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"a": found}
    return found


_PENDING = _whole(1, 10_000)
_RETENTION = _whole(1, 2_592_000)
_LEASE = _whole(1, 86_400)
_REASON = _text(191, 1)
_START = _text(191)


BOUNDS = {
    "items": Bound([1, 500], [0, 501], "items", lambda s, ref, v: s.append(ref, items(range(v)))),
    "max_pending_items": Bound(
        *_PENDING,
        "max_pending_items",
        lambda s, ref, v: s.append(ref.run.stream("new"), items("a"), max_pending_items=v),
    ),
    "lease_seconds": Bound(
        [*_LEASE[0], None],
        _LEASE[1][:-1],
        "lease_seconds",
        lambda s, ref, v: s.append(ref, items("a"), lease_seconds=v),
    ),
    "lease_seconds of a sign of life": Bound(*_LEASE, "lease_seconds", lambda s, ref, v: s.renew(ref, v)),
    "idempotency_key": Bound(
        ["x" * 191, "🌊" * 191, "", None],
        _text(191)[1],
        "items.1.idempotency_key",
        lambda s, ref, v: s.append(ref, [item(0), NewItem(idempotency_key=v)]),
    ),
    "origin": _of_item("origin", *_text(64, 1)),
    "origin_reference": _item_text("origin_reference", 191),
    "item_type": _item_text("item_type", 64),
    "content_type": _item_text("content_type", 191),
    "payload_reference": _item_text("payload_reference", 191),
    "payload_reference as an object": Bound(
        [{}, {"a": [1, None, "\udcff"], "payload": "x"}, deep(511), {"a": "[" * 600}],
        [{"a": b"x"}, {"a": float("nan")}, {"a": {1, 2}}, [1], 7, deep(512), deep(100_000)],
        "items.1.payload_reference",
        lambda s, ref, v: s.append(ref, [item(0), item(1, payload_reference=v)]),
    ),
    "payload_codec": _of_item("payload_codec", ["avro", None], ["", "json", "Avro", "x" * 65, 7]),
    "payload": Bound(
        [
            *(b"0", b' {"a": [null, true, 1e400, "\\ud800"]} ', b'"' + b"x" * 1000 + b'"'),
            *(b"[" * 512 + b"]" * 512, b'"' + b"[" * 600 + b'"'),
        ],
        [
            *(b"", b"nul", b"NaN", b"Infinity", b"-Infinity", b"'a'", b'"\0"', b'"\xff"', b"[1,]", b"1 2"),
            *(b"\xef\xbb\xbf1", b'"\xed\xa0\x80"', b"[" * 513 + b"]" * 513, b"[" * 100_000, "1", None),
        ],
        "items.1.payload",
        lambda s, ref, v: s.append(ref, [item(0), NewItem(payload=v)]),
    ),
    "error_reason": Bound(
        [*_REASON[0], "two\nlines\tand\r\nmore", None],
        [value for value in _REASON[1] if value != "\x1f"],
        "error_reason",
        lambda s, ref, v: s.end(ref, error_reason=v),
    ),
    "retention_seconds": Bound(
        [*_RETENTION[0], None],
        _RETENTION[1][:-1],
        "retention_seconds",
        lambda s, ref, v: s.end(ref, retention_seconds=v),
    ),
    "from": Bound(
        [0, 1, 2**63 - 1, 2**63, 2**200],
        [-1, -(2**70), 0.0, "0", True, None],
        "from",
        lambda s, ref, v: s.subscribe(ref, from_offset=v),
    ),
    "max_items": Bound(*_whole(1, 500), "max_items", lambda s, ref, v: s.subscribe(ref, max_items=v)),
    # There is something to be read, so that nobody waits.
    "wait_seconds": Bound(*_whole(0, 60), "wait_seconds", lambda s, ref, v: s.subscribe(ref, wait_seconds=v)),
    "workflow_type": Bound(
        [*_START[0], None], _START[1], "workflow_type", lambda s, ref, v: _started(s, ref, workflow_type=v)
    ),
    "task_queue": Bound([*_START[0], None], _START[1], "task_queue", lambda s, ref, v: _started(s, ref, task_queue=v)),
    "workflow_id": Bound(
        *_ids(), "workflow_id", lambda s, ref, v: s.append(Run("default", v, "r").stream("s"), items("a"))
    ),
    "run_id": Bound(*_ids(), "run_id", lambda s, ref, v: s.append(Run("default", "wf", v).stream("s"), items("a"))),
}


def _started(service: EmbeddedService, ref: StreamRef, **more: Any) -> object:
    run = Run("default", "started", "r")
    service.delete_run(run)
    return service.start_run(run, **more)
