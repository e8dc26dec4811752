"""Reads as the service promises them: pages without a hole, the end, and a stream as a topic."""

import pytest
from tests.workflow.items import documents, item, items, payloads
from tests.workflow.places import Place

from tailrace import CLOSED
from tailrace.errors import DurableStreamUnavailableError, TopicSealedError
from tailrace.testing.reading import drain, take
from tailrace.testing.servers.waiting import until
from tailrace.workflow.bounds import MAX_ITEMS, MAX_PENDING_ITEMS
from tailrace.workflow.embedded import EmbeddedService
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


def test_a_topic_without_room_takes_nothing_and_says_that_nothing_was_stored(
    service: EmbeddedService, place: Place
) -> None:
    stream = place.stream()
    topic = service.topic(stream)
    for _ in range(MAX_PENDING_ITEMS // MAX_ITEMS):
        topic.append_many([b"1"] * MAX_ITEMS)
    with pytest.raises(DurableStreamUnavailableError) as caught:
        topic.append(b"2")
    assert caught.value.maybe_stored is False
    assert service.describe(stream).total_items == MAX_PENDING_ITEMS


def test_s29_an_end_between_catching_up_and_following_is_seen_at_once(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items(range(3)))
    with service.topic(stream).subscribe_from_beginning() as subscription:
        take(subscription, 3)
        place.service().end(stream)
        assert subscription.receive(timeout=20) is CLOSED
