"""Every bound at the service itself, for callers that no request was validated for: the last value, and one above."""

from collections.abc import Callable

import pytest
from tests.workflow.bounded import BOUNDS
from tests.workflow.items import item, items
from tests.workflow.places import Place

from tailrace.errors import InvalidArgumentError
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
    longest, longer = "n" * 128, "n" * 129
    with pytest.raises(InvalidArgumentError, match="namespaces"):
        WorkflowSettings(namespaces=frozenset({longest, longer}))
    service = place.service(WorkflowSettings(namespaces=frozenset({longest})))
    assert service.append(Run(longest, "wf", "r").stream("out"), items("a")).accepted == 1
    with pytest.raises(NamespaceNotFoundError):
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
