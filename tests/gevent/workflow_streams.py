"""Streams of workflows among greenlets: whoever waits, or is kept waiting by another process, holds up nobody else."""

from collections.abc import Iterator
from contextlib import closing

import gevent
import pytest
from tests.workflow.conftest import mariadb, places, postgres  # noqa: F401 - fixtures
from tests.workflow.items import item, items, keyed, payloads
from tests.workflow.places import Place

from tailrace.testing.servers.waiting import until
from tailrace.workflow.cancellation import Cancellation
from tailrace.workflow.embedded import EmbeddedService

MANY = 50


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def place(request: pytest.FixtureRequest, places) -> Iterator[Place]:  # type: ignore[no-untyped-def]  # noqa: ANN001, F811
    found = places(request.param)
    yield found
    found.empty()


@pytest.fixture
def service(place: Place) -> EmbeddedService:
    return place.service()


def test_waiting_greenlets_are_woken_by_one_append(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items("a"))
    waiting = [gevent.spawn(service.subscribe, stream, from_offset=1, wait_seconds=60) for _ in range(MANY)]
    until(lambda: service.engine.stats()["subscriptions"] == MANY, "all wait")
    service.append(stream, items("b"))
    gevent.joinall(waiting, timeout=20, raise_error=True)
    assert {len(greenlet.value.documents) for greenlet in waiting} == {1}
    until(lambda: service.describe(stream).pending_items == 0, "the delivery is noted")


def test_greenlets_that_are_killed_or_cancelled_leave_the_others_waiting(
    service: EmbeddedService, place: Place
) -> None:
    stream, cancellation = place.stream(), Cancellation()
    service.append(stream, items("a"))
    waiting = [gevent.spawn(service.subscribe, stream, from_offset=1, wait_seconds=60) for _ in range(9)]
    cancelled = gevent.spawn(service.subscribe, stream, from_offset=1, wait_seconds=60, cancellation=cancellation)
    until(lambda: service.engine.stats()["subscriptions"] == 10, "all wait")
    gevent.killall(waiting[:4], block=True, timeout=20)
    cancellation.cancel()
    assert cancelled.get(timeout=20).documents == ()
    until(lambda: service.engine.stats()["subscriptions"] == 5, "five are left")
    service.append(stream, items("b"))
    gevent.joinall(waiting[4:], timeout=20, raise_error=True)
    assert {len(greenlet.value.documents) for greenlet in waiting[4:]} == {1}


def test_greenlets_append_with_keys_at_once(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    done = [gevent.spawn(service.append, stream, keyed(f"k{number % 5}", f"own{number}")) for number in range(20)]
    gevent.joinall(done, timeout=60, raise_error=True)
    assert service.describe(stream).total_items == 25
    assert sorted(set(payloads(service, stream))) == sorted(payloads(service, stream))


def test_a_stream_that_another_process_has_locked_holds_up_nobody_else(service: EmbeddedService, place: Place) -> None:
    if place.engine == "sqlite":
        # One writer at a time: what is not held up is every other greenlet.
        with closing(place.connect()) as outside:
            outside.execute("BEGIN IMMEDIATE")
            kept = gevent.spawn(service.append, place.stream(), items("a"))
            for _ in range(30):
                gevent.sleep(0.01)
            assert not kept.ready()
            outside.execute("ROLLBACK")
            assert kept.get(timeout=20).accepted == 1
        return
    stream, other = place.stream(), place.stream()
    service.append(stream, items("a"))
    with place.held(stream.topic):
        kept = gevent.spawn(service.append, stream, [item("b", "k")])
        place.until_somebody_waits()
        for number in range(5):
            assert service.append(other, items([number])).offsets[0] == number
        assert not kept.ready()
    assert kept.get(timeout=20).accepted == 1
