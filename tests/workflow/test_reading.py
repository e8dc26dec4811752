"""Reads as the service promises them: pages, waits that an append ends, deliveries, and a stream as a topic."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.workflow.databases import Between
from tests.workflow.items import documents, item, items, payloads
from tests.workflow.places import Place

from tailrace import CLOSED
from tailrace.errors import TopicSealedError
from tailrace.spi import Database
from tailrace.testing.reading import Background, drain, take
from tailrace.testing.servers.waiting import until
from tailrace.workflow.cancellation import Cancellation
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import RunNotFoundError, StreamNotFoundError
from tailrace.workflow.model import NewItem


def test_pages_follow_each_other_without_a_hole(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items(range(7)))
    seen, at = [], 0
    for expected in ([0, 1, 2], [3, 4, 5], [6]):
        page = service.subscribe(stream, from_offset=at, max_items=3)
        seen += [int(document.rpartition(b":")[2][:-1]) for document in page.documents]
        assert seen[-len(expected) :] == expected
        assert page.terminal is False
        at = page.next_offset
        assert at == seen[-1] + 1
    assert payloads(service, stream, 5) == [5, 6]


@pytest.mark.parametrize("at", [3, 4, 1000, 2**70])
def test_an_empty_page_says_the_offset_that_was_asked_for(service: EmbeddedService, place: Place, at: int) -> None:
    stream = place.stream()
    service.append(stream, items(range(3)))
    page = service.subscribe(stream, from_offset=at)
    assert (page.documents, page.next_offset, page.terminal) == ((), at, False)
    service.end(stream)
    page = service.subscribe(stream, from_offset=at, wait_seconds=60)
    assert (page.documents, page.next_offset, page.terminal) == ((), at, True)


def test_a_page_is_terminal_once_nothing_can_follow(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items(range(3)))
    service.end(stream)
    assert service.subscribe(stream, max_items=2).terminal is False
    page = service.subscribe(stream, from_offset=2)
    assert (len(page.documents), page.next_offset, page.terminal) == (1, 3, True)


def test_a_page_holds_no_more_bytes_than_it_may_and_one_item_in_any_case(
    service: EmbeddedService, place: Place
) -> None:
    stream = place.stream()
    large = b'"' + b"x" * 1_500_000 + b'"'
    for number in range(3):
        service.append(stream, [NewItem(payload=large), item(number)])
    lengths, at = [], 0
    while at < 6:
        page = service.subscribe(stream, from_offset=at)
        lengths.append(len(page.documents))
        at = page.next_offset
    assert lengths == [2, 2, 2]


@pytest.mark.parametrize("wait", [0, 60])
def test_nobody_waits_for_a_stream_that_was_never_opened(service: EmbeddedService, place: Place, wait: int) -> None:
    stream = place.stream()
    with pytest.raises(RunNotFoundError):
        service.subscribe(stream, wait_seconds=wait)
    service.append(stream.run.stream("other"), items("a"))
    with pytest.raises(StreamNotFoundError):
        service.subscribe(stream, wait_seconds=wait)


def test_a_wait_ends_without_items_when_its_time_is_over(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items(range(2)))
    began = time.monotonic()
    page = service.subscribe(stream, from_offset=2, wait_seconds=1)
    assert time.monotonic() - began >= 1
    assert (page.documents, page.next_offset, page.terminal) == ((), 2, False)


class Waited(Between):
    """Says when a look has been taken."""

    def __init__(self, database: object) -> None:
        super().__init__(database)  # type: ignore[arg-type]
        self.looked = threading.Event()

    def asked(self, *_: object) -> None:
        self.looked.set()


@pytest.mark.parametrize("elsewhere", [False, True], ids=["by this process", "by another handle"])
@pytest.mark.parametrize("ends", ["append", "close", "error", "delete"])
def test_a_wait_is_ended_by_what_comes(place: Place, ends: str, elsewhere: bool) -> None:
    made: list[Waited] = []
    service = place.service(around=lambda database: made.append(Waited(database)) or made[0])  # type: ignore[func-returns-value]
    stream, other = place.stream(), place.service() if elsewhere else service
    other.append(stream, items([0]))
    waiting = Background(lambda: service.subscribe(stream, from_offset=1, wait_seconds=60))
    assert made[0].looked.wait(20)
    if ends == "append":
        other.append(stream, items(["it"]))
        page = waiting.result()
        assert (len(page.documents), page.next_offset, page.terminal) == (1, 2, False)
    elif ends == "delete":
        other.delete_run(stream.run)
        with pytest.raises(RunNotFoundError):
            waiting.result()
    else:
        other.end(stream, error_reason="broke" if ends == "error" else None)
        page = waiting.result()
        assert (page.documents, page.next_offset, page.terminal) == ((), 1, True)
        assert page.stream.error_reason == ("broke" if ends == "error" else None)


class Watched(Cancellation):
    """Says when it is watched, and how many watch it."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.watching = 0

    def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        take_back = super().watch(callback)
        self.watching += 1
        self.begun.set()

        def forget() -> None:
            self.watching -= 1
            take_back()

        return forget


def test_a_wait_that_is_cancelled_answers_without_items(service: EmbeddedService, place: Place) -> None:
    stream, cancellation = place.stream(), Watched()
    service.append(stream, items([0]))
    waiting = Background(lambda: service.subscribe(stream, from_offset=1, wait_seconds=60, cancellation=cancellation))
    assert cancellation.begun.wait(20)
    cancellation.cancel()
    page = waiting.result(5)
    assert (page.documents, page.next_offset, page.terminal) == ((), 1, False)
    assert cancellation.watching == 0


def test_a_wait_that_is_cancelled_before_it_has_begun_answers_as_well(
    service: EmbeddedService, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, cancellation = place.stream(), Cancellation()
    service.append(stream, items([0]))
    opened = service.engine.open

    def cancelled(*args: Any) -> Any:
        cancellation.cancel()
        return opened(*args)

    monkeypatch.setattr(service.engine, "open", cancelled)
    page = service.subscribe(stream, from_offset=1, wait_seconds=60, cancellation=cancellation)
    assert (page.documents, page.next_offset) == ((), 1)


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


def test_a_stream_is_a_topic_of_its_payloads(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    topic = service.topic(stream)
    with topic.subscribe_from_beginning() as unborn:
        topic.append(b"[1]")
        assert [record.payload for record in take(unborn, 1)] == [b"[1]"]
        topic.append_many([b"2 ", b' "3"'])
        _, third = take(unborn, 2)
        until(lambda: service.describe(stream).pending_items == 0, "what a topic's reader got is delivered")
        topic.append(b"4")
        with topic.subscribe_from_cursor(third.cursor) as resumed:
            topic.seal(error="broke")
            assert drain(resumed) == [b"4"]
            assert resumed.end is not None
            assert resumed.end.error == "broke"
        assert drain(unborn) == [b"4"]
        assert unborn.receive(timeout=0) is CLOSED
    assert {document["origin"] for document in documents(service, stream)} == {"external"}
    with pytest.raises(TopicSealedError):
        topic.append(b"5")


def test_s29_an_end_between_catching_up_and_following_is_seen_at_once(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items(range(3)))
    with service.topic(stream).subscribe_from_beginning() as subscription:
        take(subscription, 3)
        place.service().end(stream)
        assert subscription.receive(timeout=20) is CLOSED


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
    made: list[Late] = []
    service = place.service(around=lambda database: made.append(Late(database)) or made[0])  # type: ignore[func-returns-value]
    stream = place.stream()
    service.append(stream, items("ab"))
    made[0].armed = True
    # It is told before the look begins, and written after the look has read.
    service.note_of(stream)(1)
    found = service.describe(stream) if look == "describe" else service.list_streams(stream.run)[0]
    assert found.pending_items == 0
