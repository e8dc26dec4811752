"""Appends as the service promises them: opened by the first one, dense offsets, whole batches."""

import pytest
from tests.workflow.items import documents, item, items, keyed, payloads
from tests.workflow.places import Place

from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import (
    RunNotFoundError,
    StreamFullError,
    StreamNotFoundError,
)
from tailrace.workflow.model import NewItem, Status
from tailrace.workflow.settings import WorkflowSettings


def test_the_first_append_opens_run_and_stream(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    with pytest.raises(RunNotFoundError):
        service.describe(stream)
    appended = service.append(stream, items(["a", "b"]))
    assert (list(appended.offsets), appended.accepted, appended.deduped) == ([0, 1], 2, 0)
    found = service.describe(stream)
    assert found == appended.stream
    assert (found.status, found.last_offset, found.total_items, found.pending_items) == (Status.OPEN, 1, 2, 2)
    assert found.opened_at <= (found.last_appended_at or 0)
    assert (found.closed_at, found.error_reason, found.retention_seconds) == (None, None, None)
    assert service.describe_run(stream.run).registered is False
    with pytest.raises(StreamNotFoundError):
        service.describe(stream.run.stream("other"))


def test_where_runs_are_registered_an_append_begins_none(place: Place) -> None:
    service, stream = place.service(WorkflowSettings(runs="registered")), place.stream()
    with pytest.raises(RunNotFoundError):
        service.append(stream, items("a"))
    assert (place.count("workflow_runs"), place.count("workflow_streams")) == (0, 0)
    service.start_run(stream.run)
    assert service.append(stream, items("a")).accepted == 1


def test_offsets_are_dense_whoever_appends(service: EmbeddedService, place: Place) -> None:
    stream, other = place.stream(), place.service()
    for number in range(6):
        appended = (service, other)[number % 2].append(stream, items(range(number + 1)))
        first = number * (number + 1) // 2
        assert list(appended.offsets) == list(range(first, first + number + 1))
    assert [document["offset"] for document in documents(service, stream)] == list(range(21))


def test_names_that_differ_in_case_are_two_streams(service: EmbeddedService, place: Place) -> None:
    run = place.stream().run
    for name in ("tok", "Tok", "TOK"):
        assert list(service.append(run.stream(name), items([name])).offsets) == [0]
    assert payloads(service, run.stream("Tok")) == ["Tok"]
    assert [stream.stream_name for stream in service.list_streams(run)] == ["TOK", "Tok", "tok"]


def test_the_same_names_in_another_run_workflow_or_letter_case_are_other_streams(
    service: EmbeddedService, place: Place
) -> None:
    one = place.stream()
    for workflow, run in (("wf", "R"), ("wf", "r"), ("WF", "r"), ("wf/r", "r"), ("wf", "r/r"), ("wf ", "r")):
        stream = type(one.run)("default", workflow, run).stream("out")
        assert list(service.append(stream, items(["only"])).offsets) == [0]


def test_an_item_comes_back_with_all_that_it_had(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    full = item(
        {"x": [1]},
        "k",
        origin="external",
        origin_reference="r",
        item_type="t",
        content_type="c",
        payload_reference="ref",
        payload_codec="avro",
    )
    at = service.append(stream, [full, NewItem()]).stream.last_appended_at
    assert at is not None
    first, second = documents(service, stream)
    stamp = first["emitted_at"]
    assert first == {
        "offset": 0,
        "idempotency_key": "k",
        "origin": "external",
        "origin_reference": "r",
        "item_type": "t",
        "content_type": "c",
        "payload": {"x": [1]},
        "payload_reference": "ref",
        "payload_codec": "avro",
        "emitted_at": stamp,
    }
    assert stamp.endswith("Z")
    assert len(stamp.partition(".")[2]) == len("000000Z")
    unset = {"idempotency_key", "origin_reference", "item_type", "content_type", "payload"}
    unset |= {"payload_reference", "payload_codec"}
    assert second == {**dict.fromkeys(unset), "offset": 1, "origin": "workflow_command", "emitted_at": stamp}


def test_a_batch_that_does_not_fit_is_refused_whole_and_one_that_fits_is_taken(
    service: EmbeddedService, place: Place
) -> None:
    stream = place.stream()
    with pytest.raises(StreamFullError) as caught:
        service.append(stream, items(range(4)), max_pending_items=3)
    assert caught.value.details == {"pending_items": 0, "max_pending_items": 3}
    assert (place.count("workflow_streams"), place.count("workflow_runs")) == (0, 0)
    service.append(stream, keyed("a", "b"), max_pending_items=3)
    with pytest.raises(StreamFullError) as caught:
        service.append(stream, keyed("a", "c", "d"), max_pending_items=3)
    assert caught.value.details == {"pending_items": 2, "max_pending_items": 3}
    # Duplicates take no room, inside of the batch neither.
    assert list(service.append(stream, keyed("a", "c", "c", "b"), max_pending_items=3).offsets) == [0, 2, 2, 1]
    assert list(service.append(stream, keyed("c", "a"), max_pending_items=1).offsets) == [2, 0]
    with pytest.raises(StreamFullError):
        service.append(stream, keyed("d"), max_pending_items=3)
    assert service.append(stream, keyed("d"), max_pending_items=4).accepted == 1
    assert payloads(service, stream) == ["a", "b", "c", "d"]
