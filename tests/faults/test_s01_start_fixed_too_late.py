"""S01: a start that is fixed later than the caller thinks loses what comes in between, or replays."""

import time
from collections.abc import Callable

import pytest

from tailrace.errors import CursorUnavailableError
from tailrace.records import CLOSED
from tailrace.testing.drivers import Client, Subscription, Topic
from tailrace.testing.peers import Peer
from tailrace.testing.reading import Background, nothing, numbered, payloads, read_all, take
from tailrace.testing.stores import StoreUnderTest

IDLE = 0.3


def _by_tail(topic: Topic) -> Subscription:
    return topic.subscribe_from_tail()


def _by_checkpoint(topic: Topic) -> Subscription:
    return topic.subscribe_from_cursor(topic.checkpoint())


def _by_a_resume_boundary(topic: Topic) -> Subscription:
    with topic.subscribe_from_tail() as subscription:
        nothing(subscription)
    return topic.subscribe_from_cursor(subscription.cursor)


Start = Callable[[Topic], Subscription]
STARTS = [_by_tail, _by_checkpoint, _by_a_resume_boundary]
every_start = pytest.mark.parametrize("start", STARTS)


@every_start
def test_what_another_process_appends_between_subscribing_and_entering_arrives(
    topic: Topic, peer: Peer, start: Start
) -> None:
    topic.append(b"A")
    subscription = start(topic)
    peer.append(topic.name, b"B")
    time.sleep(IDLE)
    assert read_all(subscription, 1) == [b"B"]


@every_start
def test_so_it_does_if_the_topic_did_not_exist(topic: Topic, peer: Peer, start: Start) -> None:
    subscription = start(topic)
    peer.append(topic.name, b"B")
    time.sleep(IDLE)
    assert read_all(subscription, 1) == [b"B"]


@every_start
@pytest.mark.parametrize("again", [True, False], ids=["recreated", "gone"])
def test_a_topic_that_another_process_deletes_in_between_is_told(
    topic: Topic, peer: Peer, start: Start, again: bool
) -> None:
    topic.append(b"A")
    subscription = start(topic)
    peer.append(topic.name, b"B")
    peer.delete(topic.name)
    if again:
        peer.append(topic.name, b"C")
    with pytest.raises(CursorUnavailableError):
        subscription.__enter__()
    assert subscription.receive(timeout=0) is CLOSED


def test_a_topic_born_and_deleted_by_another_process_in_between_is_told(topic: Topic, peer: Peer) -> None:
    subscription = topic.subscribe_from_tail()
    peer.append(topic.name, b"B")
    peer.delete(topic.name)
    with pytest.raises(CursorUnavailableError):
        subscription.__enter__()


def test_a_topic_that_another_process_seals_in_between_drains(topic: Topic, peer: Peer) -> None:
    topic.append(b"A")
    subscription = topic.subscribe_from_tail()
    peer.append(topic.name, b"B")
    peer.seal(topic.name)
    with subscription:
        assert payloads(take(subscription, 1)) == [b"B"]
        assert subscription.receive(timeout=5) is CLOSED


def test_what_another_process_appends_to_an_idle_reader_arrives(topic: Topic, peer: Peer) -> None:
    with topic.subscribe_from_tail() as subscription:
        nothing(subscription)
        for payload in numbered(20):
            peer.append(topic.name, payload)
            assert payloads(take(subscription, 1)) == [payload]


def test_no_run_of_many_loses_an_event_or_sees_a_stale_one(
    streams: Client, elsewhere: Client, store: StoreUnderTest
) -> None:
    def run() -> list[tuple[list[bytes], list[bytes]]]:
        seen = []
        for _ in range(20):
            name = store.fresh_name()
            topic, events = streams.topic(name), numbered(5)
            subscription = topic.subscribe_from_tail()
            worker = Background(lambda name=name: [elsewhere.topic(name).append(e) for e in numbered(5)])  # type: ignore[misc]
            with subscription:
                live = take(subscription, 2)
            with topic.subscribe_from_cursor(subscription.cursor) as again:
                live += take(again, 3)
            worker.result()
            with topic.subscribe_from_cursor(again.cursor) as stale:
                nothing(stale)
            seen.append((payloads(live), events))
        return seen

    runs = [Background(run) for _ in range(8)]
    for one in runs:
        for live, events in one.result(timeout=120):
            assert live == events


@pytest.mark.long
def test_no_run_of_160_does_with_workers_in_other_processes(streams: Client, store: StoreUnderTest) -> None:
    def run() -> list[list[bytes]]:
        seen = []
        worker = store.peer()
        for _ in range(20):
            topic = streams.topic(store.fresh_name())
            subscription = topic.subscribe_from_tail()
            working = Background(lambda topic=topic: worker.append(topic.name, *numbered(5)))  # type: ignore[misc]
            with subscription:
                live = take(subscription, 2)
            with topic.subscribe_from_cursor(subscription.cursor) as again:
                live += take(again, 3)
            working.result()
            with topic.subscribe_from_cursor(again.cursor) as stale:
                nothing(stale)
            seen.append(payloads(live))
        worker.close()
        return seen

    runs = [Background(run) for _ in range(8)]
    assert [one.result(timeout=300) for one in runs] == [[numbered(5)] * 20] * 8
