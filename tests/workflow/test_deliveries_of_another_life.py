"""A run that is deleted and begins anew: what was delivered of the old one says nothing about the new one."""

import threading
from typing import TypeVar

import pytest
from tests.workflow.databases import Clock
from tests.workflow.items import items, payloads
from tests.workflow.places import Place

from tailrace.spi import Database
from tailrace.spi.relational import Work
from tailrace.workflow.errors import StreamFullError
from tailrace.workflow.store import delivering

T = TypeVar("T")


class Held(Clock):
    """Holds back what is noted of deliveries until it may go on."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.reached, self.may_go_on, self.noted = threading.Event(), threading.Event(), threading.Event()

    def change(self, work: Work[T], timeout: float) -> T:
        if getattr(work, "func", None) is not delivering.note:
            return super().change(work, timeout)
        self.reached.set()
        assert self.may_go_on.wait(60)
        result = super().change(work, timeout)
        self.noted.set()
        return result


@pytest.mark.parametrize("by", ["page", "topic"])
def test_a_delivery_of_the_old_life_makes_no_room_in_the_new_one(place: Place, by: str) -> None:
    service, held = place.behind(Held)
    stream = place.stream()
    service.append(stream, items(["old"]))
    if by == "page":
        assert payloads(service, stream) == ["old"]
    else:
        with service.topic(stream).subscribe_from_beginning() as subscription:
            assert subscription.receive(timeout=10)
    assert held.reached.wait(60)
    assert service.describe(stream).pending_items == 0

    service.delete_run(stream.run)
    held.now += 1
    service.append(stream, items(["new"]))

    assert service.describe(stream).pending_items == 1
    with pytest.raises(StreamFullError):
        service.append(stream, items(["more"]), max_pending_items=1)
    held.may_go_on.set()
    assert held.noted.wait(60)
    assert place.shared.describe(stream).pending_items == 1
