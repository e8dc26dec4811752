"""Leases: a producer that is not heard of ends its stream as errored, at its instant and once."""

import threading

import pytest
from tests.workflow.clocked import SECOND, clock_of, clocked
from tests.workflow.items import items, keyed
from tests.workflow.places import Place

from tailrace.testing.reading import Background
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import StreamErroredError
from tailrace.workflow.model import Status


def test_s29_a_producer_that_is_not_heard_of_is_lost_at_its_instant_and_once(place: Place) -> None:
    service, clock = clocked(place)
    others = [clocked(place) for _ in range(2)]
    stream = place.stream()
    service.append(stream, keyed("a"), lease_seconds=5)
    with service.topic(stream).subscribe_from_tail() as subscription:
        clock.now += 4 * SECOND
        service.renew(stream, 5)
        clock.now += 4 * SECOND
        # A duplicate is a sign of life as well.
        service.append(stream, keyed("a"), lease_seconds=5)
        clock.now += 5 * SECOND - 1
        assert service.sweep().lost_producers == 0
        clock.now += 1
        for _, other in others:
            other.now = clock.now
        lost = [sweeper.sweep().lost_producers for sweeper in (others[0][0], service, others[1][0], service)]
        assert lost == [1, 0, 0, 0]
        ended = service.describe(stream)
        assert (ended.status, ended.error_reason, ended.closed_at) == (Status.ERRORED, "producer lost", clock.now)
        assert ended.retention_seconds == 3600
        assert subscription.receive(timeout=20) is not None
        assert subscription.end is not None
        assert subscription.end.error == "producer lost"
    with pytest.raises(StreamErroredError):
        service.append(stream, keyed("b"))
    assert service.append(stream, keyed("a"), lease_seconds=5).deduped == 1
    assert service.describe(stream) == ended


def test_s29_a_producer_is_lost_once_whoever_sweeps_at_the_same_time(place: Place) -> None:
    service, clock = clocked(place)
    sweepers = [place.service(around=lambda database: clock_of(clock, database)) for _ in range(3)]
    for _ in range(3):
        stream, barrier = place.stream(), threading.Barrier(3)
        service.append(stream, keyed("a"), lease_seconds=5)
        clock.now += 5 * SECOND
        for sweeper in sweepers:
            sweeper.database.now = clock.now  # type: ignore[attr-defined]

        def lost(sweeper: EmbeddedService, barrier: threading.Barrier = barrier) -> int:
            barrier.wait(60)
            return sweeper.sweep().lost_producers

        at_once = [Background(lambda one=one: lost(one)) for one in sweepers]  # type: ignore[misc]
        assert sum(one.result() for one in at_once) == 1
        assert service.describe(stream).error_reason == "producer lost"


def test_a_producer_that_says_nothing_of_a_lease_is_waited_for_as_long_as_before(place: Place) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    service.append(stream, items("a"))
    clock.now += 10**15
    assert service.sweep().lost_producers == 0
    service.append(stream, items("b"), lease_seconds=5)
    service.append(stream, items("c"))
    clock.now += 5 * SECOND
    assert service.sweep().lost_producers == 1
