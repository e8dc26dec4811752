"""Passes of retention: the oldest first, within a budget, and what fails is in nobody's way."""

from collections.abc import Sequence

import pytest
from tests.workflow.clocked import SECOND, clock_of, clocked, number_of
from tests.workflow.databases import Clock
from tests.workflow.items import items, payloads
from tests.workflow.places import Place

from tailrace.testing.reading import take
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import RunNotFoundError, StreamNotFoundError
from tailrace.workflow.model import StreamRef
from tailrace.workflow.settings import WorkflowSettings


def expired(service: EmbeddedService, place: Place, lengths: Sequence[int], clock: Clock) -> list[StreamRef]:
    """Return streams that have so many items, and have expired in this order."""
    streams = [place.stream() for _ in lengths]
    for stream, length in zip(streams, lengths, strict=True):
        for first in range(0, length, 500):
            service.append(stream, items(range(first, min(length, first + 500))))
        service.end(stream, retention_seconds=1)
        clock.now += SECOND
    return streams


def test_passes_take_the_oldest_first_within_their_budget_and_later_ones_go_on(place: Place) -> None:
    service, clock = clocked(place, WorkflowSettings(sweep_items=700))
    streams = expired(service, place, [600, 3, 600, 1], clock)
    kept = place.stream()
    service.append(kept, items("abc"))
    left = []
    swept = []
    while True:
        result = service.sweep()
        swept.append((result.streams, result.items, result.done))
        rows = dict(place.execute("SELECT stream, count(*) FROM {workflow_items} GROUP BY stream"))
        left.append([rows.get(number_of(place, stream), 0) for stream in streams])
        assert result.items <= 700
        if result.done:
            break
    assert left == [[0, 0, 503, 1], [0, 0, 0, 0]]
    assert swept == [(2, 700, False), (2, 504, True)]
    assert payloads(service, kept) == ["a", "b", "c"]


def test_a_budget_of_transactions_is_kept_too(place: Place) -> None:
    service, clock = clocked(place, WorkflowSettings(sweep_transactions=4))
    expired(service, place, [1] * 6, clock)
    results = []
    while not (result := service.sweep()).done:
        results.append(result.streams)
    assert results
    assert max(results) <= 4
    assert sum(results) + result.streams == 6
    assert place.count("workflow_items") == 0


def test_what_fails_is_counted_put_off_and_in_nobodys_way(place: Place) -> None:
    service, clock = clocked(place, WorkflowSettings(retry_after=60.0))
    streams = expired(service, place, [2, 3, 4], clock)
    clock.refused = {number_of(place, streams[0]), number_of(place, streams[2])}
    result = service.sweep()
    assert (result.streams, result.items, result.failed, result.done) == (1, 3, 2, True)
    # Not found all the same.
    with pytest.raises(StreamNotFoundError):
        service.describe(streams[0])
    assert service.sweep().failed == 0
    clock.now += 60 * SECOND
    clock.refused = {number_of(place, streams[2])}
    result = service.sweep()
    assert (result.streams, result.items, result.failed) == (1, 2, 1)
    clock.refused = set()
    clock.now += 60 * SECOND
    assert service.sweep().streams == 1
    assert place.count("workflow_items") == 0


def test_ended_runs_are_removed_after_their_time_with_all_that_is_theirs(place: Place) -> None:
    service, clock = clocked(place, WorkflowSettings(run_retention=10.0, retry_after=60.0))
    gone, failing, kept = (place.stream() for _ in range(3))
    for stream in (gone, failing, kept):
        service.append(stream, items("ab"))
        service.append(stream.run.stream("other"), items("c"))
    for stream in (gone, failing):
        service.end_run(stream.run)
    clock.now += 10 * SECOND - 1
    assert service.sweep().runs == 0
    clock.now += 1
    clock.refused = {number_of(place, failing)}
    result = service.sweep()
    assert (result.runs, result.failed) == (1, 1)
    with pytest.raises(RunNotFoundError):
        service.describe(gone)
    # Every row of the one that failed is there.
    assert payloads(service, failing) == ["a", "b"]
    assert payloads(service, failing.run.stream("other")) == ["c"]
    assert (place.count("workflow_runs"), place.count("workflow_streams")) == (2, 4)
    clock.refused = set()
    assert service.sweep().runs == 0
    clock.now += 60 * SECOND
    assert service.sweep().runs == 1
    assert (place.count("workflow_runs"), place.count("workflow_items")) == (1, 3)
    assert payloads(service, kept) == ["a", "b"]


def test_runs_are_kept_for_ever_where_nothing_is_said_and_their_streams_expire_all_the_same(place: Place) -> None:
    service, clock = clocked(place)
    (stream,) = expired(service, place, [3], clock)
    service.end_run(stream.run)
    clock.now += 10**15
    result = service.sweep()
    assert (result.runs, result.streams) == (0, 1)
    assert service.describe_run(stream.run).ended_at is not None


def test_s25_a_poll_that_is_parked_while_others_append_and_sweep_skips_nothing(place: Place) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    service.append(stream, items("A"))
    with service.topic(stream).subscribe_from_tail() as parked:
        other = place.service(around=lambda database: clock_of(clock, database))
        other.append(stream, items("B"))
        other.sweep()
        other.append(stream, items("C"))
        assert [record.payload for record in take(parked, 2)] == [b'"B"', b'"C"']
    assert payloads(service, stream, 1) == ["B", "C"]
