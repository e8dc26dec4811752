"""Ends, runs and lists as the service promises them."""

import pytest
from tests.workflow.items import items, payloads
from tests.workflow.places import Place

from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import (
    RunExistsError,
    RunNotFoundError,
    StreamClosedError,
    StreamErroredError,
    StreamNotFoundError,
)
from tailrace.workflow.model import Run, Status


def test_a_close_says_when_it_was_and_for_how_long_it_is_kept(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items("ab"))
    ended = service.end(stream)
    assert (ended.status, ended.error_reason, ended.retention_seconds) == (Status.CLOSED, None, 3600)
    assert (ended.last_offset, ended.total_items, ended.pending_items) == (1, 2, 2)
    assert (ended.closed_at or 0) >= (ended.last_appended_at or 0) > 0
    assert service.describe(stream) == ended


def test_the_first_end_stands(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items("a"))
    first = service.end(stream, error_reason="first\nline", retention_seconds=7)
    assert (first.status, first.error_reason, first.retention_seconds) == (Status.ERRORED, "first\nline", 7)
    assert service.end(stream, error_reason="second", retention_seconds=70) == first
    assert service.end(stream) == first
    assert place.service().describe(stream) == first


def test_what_was_never_opened_can_not_be_ended_or_kept_alive(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    for call in (service.end, lambda ref: service.renew(ref, 5)):
        with pytest.raises(RunNotFoundError):
            call(stream)
    service.append(stream.run.stream("other"), items("a"))
    for call in (service.end, lambda ref: service.renew(ref, 5)):
        with pytest.raises(StreamNotFoundError):
            call(stream)
    assert place.count("workflow_streams") == 1


@pytest.mark.parametrize(("reason", "refusal"), [(None, StreamClosedError), ("broke", StreamErroredError)])
def test_what_has_ended_can_not_be_kept_alive(
    service: EmbeddedService, place: Place, reason: str | None, refusal: type[Exception]
) -> None:
    stream = place.stream()
    service.append(stream, items("a"), lease_seconds=5)
    ended = service.end(stream, error_reason=reason)
    with pytest.raises(refusal):
        service.renew(stream, 5)
    assert service.describe(stream) == ended
    assert place.count("workflow_streams", "lease_until IS NOT NULL") == 0


def test_a_list_is_of_one_run_in_the_order_of_bytes(service: EmbeddedService, place: Place) -> None:
    run = place.stream().run
    names = ["b", "B", "a.b", "a:b", "a-b", "a_b", "0", "z"]
    for name in names:
        service.append(run.stream(name), items("x"))
    service.append(place.stream("elsewhere"), items("x"))
    found = service.list_streams(run)
    assert [stream.stream_name for stream in found] == sorted(names)
    assert list(found) == [service.describe(run.stream(name)) for name in sorted(names)]
    with pytest.raises(RunNotFoundError):
        service.list_streams(Run("default", "other", run.run_id))


def test_a_run_of_another_workflow_is_not_found(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items("a"))
    foreign = Run("default", "another", stream.run.run_id).stream(stream.name)
    for call in (service.describe, service.subscribe, service.end):
        with pytest.raises(RunNotFoundError):
            call(foreign)


def test_a_registered_run_is_described_ended_and_found_by_its_workflow(service: EmbeddedService, place: Place) -> None:
    run = place.stream().run
    started = service.start_run(run, workflow_type="Type", task_queue="queue")
    assert (started.run, started.registered, started.ended_at) == (run, True, None)
    assert (started.workflow_type, started.task_queue) == ("Type", "queue")
    assert service.describe_run(run) == service.latest_run("default", "wf") == started
    with pytest.raises(RunExistsError):
        service.start_run(run)
    following = Run("default", "wf", "following")
    with pytest.raises(RunExistsError) as caught:
        service.start_run(following)
    assert caught.value.details == {"workflow_run_id": run.run_id}
    ended = service.end_run(run)
    assert ended.ended_at is not None
    assert service.end_run(run) == service.describe_run(run) == ended
    assert service.latest_run("default", "wf").run == run
    service.start_run(following)
    assert service.latest_run("default", "wf").run == following
    for call in (service.describe_run, service.end_run):
        with pytest.raises(RunNotFoundError):
            call(Run("default", "wf", "nobody's"))
    with pytest.raises(RunNotFoundError):
        service.latest_run("default", "nobody's")


def test_a_run_that_has_ended_leaves_its_streams_as_they_are(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items("a"))
    service.end_run(stream.run)
    assert service.describe(stream).status is Status.OPEN
    assert service.append(stream, items("b")).accepted == 1


def test_a_deleted_run_leaves_nothing_and_may_begin_anew(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    for name in ("out", "other"):
        service.append(stream.run.stream(name), items("ab"))
    neighbour = place.stream()
    service.append(neighbour, items(["kept"]))
    service.end(stream)
    assert service.delete_run(stream.run) is True
    assert [place.count(table) for table in ("workflow_runs", "workflow_streams", "workflow_items")] == [1, 1, 1]
    assert service.delete_run(stream.run) is False
    with pytest.raises(RunNotFoundError):
        service.describe(stream)
    assert list(service.append(stream, items("new")).offsets) == [0, 1, 2]
    assert service.describe(stream).status is Status.OPEN
    assert payloads(service, neighbour) == ["kept"]
