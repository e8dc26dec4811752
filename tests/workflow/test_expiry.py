"""Expiry at the database's instant: found just before, and nowhere from then on."""

from collections.abc import Callable

import pytest
from tests.workflow.clocked import SECOND, clocked
from tests.workflow.items import items, keyed
from tests.workflow.places import Place

from tailrace.errors import CursorUnavailableError
from tailrace.testing.reading import take
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import StreamNotFoundError
from tailrace.workflow.model import Status, StreamRef

CALLS: dict[str, Callable[[EmbeddedService, StreamRef], object]] = {
    "describe": lambda service, stream: service.describe(stream),
    "subscribe": lambda service, stream: service.subscribe(stream),
    "wait": lambda service, stream: service.subscribe(stream, from_offset=1, wait_seconds=60),
    "append": lambda service, stream: service.append(stream, keyed("a")),
    "end": lambda service, stream: service.end(stream),
    "place": lambda service, stream: service.place_before(stream, 0),
}


@pytest.mark.parametrize("swept", [False, True], ids=["not swept", "swept"])
def test_a_stream_is_not_found_anywhere_from_its_instant_on_and_found_just_before(place: Place, swept: bool) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    service.append(stream, keyed("a"))
    ended = service.end(stream, retention_seconds=5)
    assert ended.closed_at == clock.now
    clock.now += 5 * SECOND - 1
    assert service.sweep().streams == 0
    for call in CALLS.values():
        call(service, stream)
    assert len(service.list_streams(stream.run)) == 1
    clock.now += 1
    if swept:
        assert (service.sweep().streams, place.count("workflow_items")) == (1, 0)
    for call in CALLS.values():
        with pytest.raises(StreamNotFoundError):
            call(service, stream)
    assert list(service.list_streams(stream.run)) == []


def test_expiry_can_not_be_undone_before_the_run_is_deleted(place: Place) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    service.append(stream, items("abc"))
    service.end(stream, retention_seconds=1, error_reason="why")
    clock.now += SECOND
    service.sweep()
    for _ in range(2):
        with pytest.raises(StreamNotFoundError):
            service.append(stream, items("d"))
        # The tombstone: no item, no reason, nothing that is swept again.
        assert place.execute("SELECT last_position, error_reason, reclaim_at FROM {workflow_streams}") == [
            (3, None, None)
        ]
        assert service.sweep().streams == 0
        clock.now += 10**15
    service.delete_run(stream.run)
    assert list(service.append(stream, items("d")).offsets) == [0]


def test_readers_of_a_stream_that_expires_are_told_and_skip_nothing(place: Place) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    topic = service.topic(stream)
    service.append(stream, items("abc"))
    with topic.subscribe_from_beginning() as subscription:
        cursor = take(subscription, 1)[0].cursor
    service.end(stream, retention_seconds=1)
    clock.now += SECOND
    with pytest.raises(CursorUnavailableError):
        topic.subscribe_from_cursor(cursor).__enter__()


def test_a_long_active_stream_and_one_that_was_idle_for_long_stay_as_they_are(place: Place) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    service.append(stream, items("a"))
    with service.topic(stream).subscribe_from_beginning() as subscription:
        take(subscription, 1)
        before = place.execute("SELECT incarnation FROM {workflow_streams}")
        for number in range(3):
            clock.now += 2 * 2_592_000 * SECOND
            assert service.sweep().streams == 0
            assert list(service.append(stream, items([number])).offsets) == [number + 1]
            assert take(subscription, 1)[0].payload == b"%d" % number
        assert place.execute("SELECT incarnation FROM {workflow_streams}") == before


def test_a_clock_that_goes_back_ends_a_stream_no_earlier_than_its_last_item(place: Place) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    appended = service.append(stream, items("a"))
    clock.now -= 100 * SECOND
    again = service.append(stream, items("b"))
    assert again.stream.last_appended_at == appended.stream.last_appended_at
    assert service.end(stream, retention_seconds=1).closed_at == appended.stream.last_appended_at
    clock.now += 100 * SECOND
    assert service.describe(stream).status is Status.CLOSED
