"""Deliveries: what reached the head of a stream is pending no more, for whoever looks."""

import threading
from typing import Any

import pytest
from tests.workflow.databases import Between
from tests.workflow.items import items
from tests.workflow.places import Place

from tailrace.spi import Database
from tailrace.testing.servers.waiting import until
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import Mark


def test_a_delivery_up_to_the_head_leaves_nothing_pending_and_any_other_read_changes_nothing(
    service: EmbeddedService, place: Place
) -> None:
    stream, other = place.stream(), place.service()
    service.append(stream, items(range(5)))

    def pending() -> list[int]:
        # By the store, by whoever delivered, and by whoever did not.
        stored = place.execute("SELECT pending FROM {workflow_streams}")
        return [int(stored[0][0]), service.describe(stream).pending_items, other.describe(stream).pending_items]

    for reads in ({"max_items": 4}, {"from_offset": 5}, {"from_offset": 1, "max_items": 3}):
        service.subscribe(stream, **reads)  # type: ignore[arg-type]
        assert pending() == [5, 5, 5]
    page = service.subscribe(stream, from_offset=4)
    assert page.stream.pending_items == 0
    assert service.describe(stream).pending_items == 0
    assert [found.pending_items for found in service.list_streams(stream.run)] == [0]
    until(lambda: pending() == [0, 0, 0], "the delivery is noted")
    assert service.append(stream, items("ab")).stream.pending_items == 2
    service.subscribe(stream, from_offset=0, max_items=5)
    assert pending() == [2, 2, 2]


def test_a_delivery_makes_room_for_the_producer_at_once(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    for number in range(5):
        service.append(stream, items(range(3)), max_pending_items=3)
        service.subscribe(stream, from_offset=number * 3)


def test_a_delivery_is_noted_when_the_service_is_closed(service: EmbeddedService, place: Place) -> None:
    stream, reader = place.stream(), place.service()
    service.append(stream, items(range(3)))
    reader.subscribe(stream)
    reader.close()
    assert service.describe(stream).pending_items == 0


class Late(Between):
    """Answers looks only after what this process had to write was written, from before that on."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.armed = False
        self.seen, self.written_down = threading.Event(), threading.Event()

    def change(self, work: Any, timeout: float) -> Any:
        if self.armed:
            self.seen.wait(20)
        result = super().change(work, timeout)
        if self.armed:
            self.written_down.set()
        return result

    def look(self, work: Any) -> Any:
        result = super().look(work)
        if self.armed:
            self.seen.set()
            assert self.written_down.wait(20)
        return result


@pytest.mark.parametrize("look", ["describe", "list_streams"])
def test_a_delivery_that_is_written_during_a_look_is_not_forgotten_by_it(place: Place, look: str) -> None:
    service, late = place.behind(Late)
    stream = place.stream()
    appended = service.append(stream, items("ab")).stream
    late.armed = True
    # It is told before the look begins, and written after the look has read.
    service.note_of(stream)(Mark(1, appended.last_appended_at or 0))
    found = service.describe(stream) if look == "describe" else service.list_streams(stream.run)[0]
    assert found.pending_items == 0
