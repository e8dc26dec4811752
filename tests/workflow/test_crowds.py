"""Many processes, and many threads, at once: caps hold, streams are opened once, and all see the same end."""

import threading
import time
from unittest.mock import patch

import pytest
from tests.workflow.crowd import Crowd, There
from tests.workflow.items import items, keyed, payloads
from tests.workflow.places import Place

from tailrace.testing.reading import Background
from tailrace.testing.servers.waiting import until
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import StreamFullError, WorkflowStreamError
from tailrace.workflow.model import StreamRef

CAP, PROCESSES, BATCH = 10, 8, 3


def fill(there: There, url: str, stream: StreamRef, name: str) -> list[list[str]]:
    """Append batches until there is no room; return those that were stored."""
    service, stored = there.service(url), []
    there.tell("ready")
    there.heard()
    while True:
        batch = [f"{name}-{len(stored)}-{number}" for number in range(BATCH)]
        try:
            service.append(stream, keyed(*batch), max_pending_items=CAP)
        except StreamFullError:
            break
        stored.append(batch)
    for batch in stored:
        assert service.append(stream, keyed(*batch), max_pending_items=1).deduped == BATCH
    return stored


def test_s26_eight_processes_fill_a_new_stream_to_its_cap_and_never_above(
    service: EmbeddedService, place: Place, crowd: Crowd
) -> None:
    stream, members = place.stream(), crowd.members(PROCESSES)
    for number, member in enumerate(members):
        member.begin(fill, place.url, stream, str(number))
    for member in members:
        assert member.said() == "ready"
    for member in members:
        member.go_on()
    stored = [batch for member in members for batch in member.result()]
    assert len(stored) == CAP // BATCH
    found = payloads(service, stream)
    assert sorted(found[at : at + BATCH] for at in range(0, len(found), BATCH)) == sorted(stored)


def shifted(there: There, url: str, stream: StreamRef, seconds: float) -> list[str]:
    """With a clock that is wrong, watch a stream expire; return all that was seen once it had."""
    service = there.service(url)
    real, real_ns = time.time, time.time_ns
    with (
        patch.object(time, "time", lambda: real() + seconds),
        patch.object(time, "time_ns", lambda: real_ns() + int(seconds * 1e9)),
    ):
        there.tell("watching")
        there.heard()
        return _after_expiry(service, stream)


def _after_expiry(service: EmbeddedService, stream: StreamRef) -> list[str]:
    seen = [_answer(lambda: service.describe(stream))]
    seen += [_answer(lambda: service.subscribe(stream)), _answer(lambda: service.subscribe(stream, wait_seconds=60))]
    seen += [_answer(lambda: service.append(stream, keyed("a")))]
    seen += [_answer(lambda: service.append(stream, keyed("new"))), _answer(lambda: service.end(stream))]
    seen += [_answer(lambda: service.renew(stream, 5))]
    return [*seen, *(found.stream_name for found in service.list_streams(stream.run))]


def _answer(call: object) -> str:
    try:
        call()  # type: ignore[operator]
    except WorkflowStreamError as exc:
        return exc.reason
    return "found"


def test_s27_processes_whose_clocks_are_wrong_agree_on_when_a_stream_expires(
    service: EmbeddedService, place: Place, crowd: Crowd
) -> None:
    members = crowd.members(3)
    stream = place.stream()
    service.append(stream, keyed("a"))
    service.append(stream.run.stream("kept"), keyed("a"))
    service.end(stream, retention_seconds=1)
    until(lambda: _answer(lambda: service.describe(stream)) == "stream_not_found", "it expires")
    for member, seconds in zip(members, (-30, 0, 30), strict=True):
        member.begin(shifted, place.url, stream, seconds)
        assert member.said() == "watching"
    for member in members:
        member.go_on()
    assert [member.result() for member in members] == [["stream_not_found"] * 7 + ["kept"]] * 3


def test_s27_a_clock_that_is_ahead_expires_nothing(service: EmbeddedService, place: Place, crowd: Crowd) -> None:
    stream = place.stream()
    service.append(stream, keyed("a"))
    service.end(stream, retention_seconds=3600)
    (member,) = crowd.members(1)
    for seconds in (-7200, 7200):
        member.begin(shifted, place.url, stream, seconds)
        member.said()
        member.go_on()
        expected = ["found"] * 4 + ["stream_closed", "found", "stream_closed", "out"]
        assert member.result() == expected
        assert service.sweep().items == 0


THREADS = 16


@pytest.mark.parametrize("same", [False, True], ids=["sixteen streams", "one stream"])
def test_s12_sixteen_threads_open_streams_of_a_new_run_at_once(
    service: EmbeddedService, place: Place, same: bool
) -> None:
    run, barrier = place.stream().run, threading.Barrier(THREADS)

    def opened(number: int) -> int:
        stream = run.stream("s" if same else f"s{number}")
        barrier.wait(60)
        return service.append(stream, items([number])).offsets[0]

    callers = [Background(lambda number=number: opened(number)) for number in range(THREADS)]  # type: ignore[misc]
    offsets = sorted(caller.result() for caller in callers)
    assert offsets == (list(range(THREADS)) if same else [0] * THREADS)
    assert (place.count("workflow_runs"), place.count("workflow_streams")) == (1, 1 if same else THREADS)
