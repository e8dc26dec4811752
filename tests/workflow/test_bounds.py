"""Every bound at the service itself, for callers that no request was validated for: the last value, and one above."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from tests.workflow.items import item, items
from tests.workflow.places import Place

from tailrace.workflow.batch import MAX_BATCH_BYTES
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import (
    InvalidFieldsError,
    InvalidStreamNameError,
    NamespaceNotFoundError,
    TooLargeError,
    WorkflowStreamError,
)
from tailrace.workflow.model import NewItem, Run, StreamRef
from tailrace.workflow.settings import WorkflowSettings

Call = Callable[[EmbeddedService, StreamRef], object]


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


@pytest.mark.parametrize("name", BOUNDS)
def test_what_is_in_bounds_is_taken(service: EmbeddedService, place: Place, name: str) -> None:
    for value in BOUNDS[name].taken:
        stream = place.stream()
        service.append(stream, items("a"))
        BOUNDS[name].call(service, stream, value)


@pytest.mark.parametrize("name", BOUNDS)
def test_what_is_out_of_bounds_is_refused_by_its_name_before_anything_happens(
    service: EmbeddedService, place: Place, name: str
) -> None:
    stream = place.stream()
    service.append(stream, items("a"))
    before = contents(place)
    for value in BOUNDS[name].refused:
        with pytest.raises(InvalidFieldsError) as caught:
            BOUNDS[name].call(service, stream, value)
        assert list(caught.value.errors) == [BOUNDS[name].field], value
    assert contents(place) == before


def contents(place: Place) -> list[object]:
    """Return everything that is stored."""
    return [place.execute(f"SELECT * FROM {{{table}}}") for table in ("workflow_runs", "workflow_streams")] + [
        place.count("workflow_items")
    ]


NAMES = ["a", "0", "A" * 191, "a.b_c:d-e", "9._:-"]
NO_NAMES = ["", "A" * 192, ".a", "-a", "_a", ":a", "a b", "a/b", "é", "a\n", "a\0", "a\udc00", "\uff41", "a%2Fb"]


def test_names_of_streams_are_taken_to_their_bounds(service: EmbeddedService, place: Place) -> None:
    run = place.stream().run
    for name in NAMES:
        assert service.append(run.stream(name), items("a")).stream.stream_name == name
    assert [stream.stream_name for stream in service.list_streams(run)] == sorted(NAMES)


@pytest.mark.parametrize(
    "call",
    [
        lambda service, stream: service.append(stream, items("a")),
        lambda service, stream: service.describe(stream),
        lambda service, stream: service.subscribe(stream),
        lambda service, stream: service.end(stream),
        lambda service, stream: service.renew(stream, 1),
        lambda service, stream: service.topic(stream),
        lambda service, stream: service.document_topic(stream),
        lambda service, stream: service.place_before(stream, 0),
    ],
    ids=["append", "describe", "subscribe", "end", "renew", "topic", "document topic", "place"],
)
def test_what_is_no_name_of_a_stream_or_of_a_namespace_is_refused_everywhere(
    service: EmbeddedService, place: Place, call: Call
) -> None:
    run = place.stream().run
    for name in NO_NAMES:
        with pytest.raises(InvalidStreamNameError):
            call(service, run.stream(name))
    for namespace in ("other", "Default", "", "x" * 200, "default\0"):
        with pytest.raises(NamespaceNotFoundError):
            call(service, Run(namespace, "wf", "r").stream("out"))
    assert place.count("workflow_runs") == 0


def test_a_namespace_may_be_as_long_as_is_said_and_no_longer(place: Place) -> None:
    longest, longer = "🌊" * 128, "n" * 129
    service = place.service(WorkflowSettings(namespaces=frozenset({longest, longer})))
    assert service.append(Run(longest, "wf", "r").stream("out"), items("a")).accepted == 1
    with pytest.raises(InvalidFieldsError, match="namespace"):
        service.append(Run(longer, "wf", "r").stream("out"), items("a"))


def test_everything_that_is_wrong_is_told_at_once(service: EmbeddedService, place: Place) -> None:
    with pytest.raises(InvalidFieldsError) as caught:
        service.append(
            place.stream(),
            [item(0, origin=""), item(1, "k" * 192, item_type="t" * 65)],
            max_pending_items=0,
            lease_seconds=0,
        )
    named = {"items.0.origin", "items.1.idempotency_key", "items.1.item_type", "max_pending_items", "lease_seconds"}
    assert set(caught.value.errors) == named


def test_a_codec_that_is_not_known_is_told_by_the_word_of_the_contract(service: EmbeddedService, place: Place) -> None:
    with pytest.raises(InvalidFieldsError) as caught:
        service.append(place.stream(), [item(0), item(1, payload_codec="json")])
    assert "unsupported_payload_codec" in caught.value.errors["items.1.payload_codec"][0]


def test_a_batch_of_the_most_bytes_is_taken_and_read_and_one_byte_more_is_not(
    service: EmbeddedService, place: Place
) -> None:
    stream = place.stream()
    # What costs most in a statement of SQL, in whole characters.
    half = b'"' + b"'\\\\" * ((MAX_BATCH_BYTES // 2 - 2) // 3)
    payloads = [half.ljust(MAX_BATCH_BYTES // 2 - 1, b"'") + b'"'] * 2
    for more in (NewItem(payload=b"1"), NewItem(payload=b"", payload_reference={"a": 1})):
        with pytest.raises(TooLargeError) as caught:
            service.append(stream, [*(NewItem(payload=payload) for payload in payloads), more])
        refusal: WorkflowStreamError = caught.value
        assert refusal.details == {"limit": MAX_BATCH_BYTES}
    assert place.count("workflow_runs") == 0
    assert list(service.append(stream, [NewItem(payload=payload) for payload in payloads]).offsets) == [0, 1]
    at = 0
    for payload in payloads:
        page = service.subscribe(stream, from_offset=at)
        assert len(page.documents) == 1
        assert page.documents[0].endswith(payload + b"}")
        at = page.next_offset
