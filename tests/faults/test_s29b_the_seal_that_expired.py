"""S29b: a seal outlives what it sealed; subscriptions write nothing; closed is closed; odd cursors cost nothing."""

import threading

import pytest

from tailrace import spi
from tailrace.errors import TopicSealedError
from tailrace.records import CLOSED, TopicCursor
from tailrace.retention import Retention
from tailrace.testing.contract.cursors import NO_CURSORS
from tailrace.testing.drivers import Topic
from tailrace.testing.faults import Fail, FaultyBackend
from tailrace.testing.fixtures import Connect
from tailrace.testing.peers import Peer, PeerError
from tailrace.testing.reading import Background, drain, fill, nothing, numbered, payloads, read_all, refused, take
from tailrace.testing.stores import StoreUnderTest


@pytest.mark.parametrize("error", [None, "producer lost"])
@pytest.mark.parametrize("records", [0, 3])
def test_a_seal_is_there_after_everything_has_expired(
    connect: Connect, name: str, peer: Peer, error: str | None, records: int
) -> None:
    operator = connect(retention=Retention(max_age=0.05), append_timeout=0.1, forget_after=0.05, tombstone_for=0.05)
    topic = connect().topic(name)
    topic.append_many(numbered(records))
    topic.seal(error=error)
    for _ in range(3):
        threading.Event().wait(0.2)
        operator.maintenance.sweep(spi.SweepBudget())
    with pytest.raises(TopicSealedError):
        topic.append(b"late")
    with pytest.raises(PeerError, match="TopicSealedError"):
        peer.append(name, b"late")
    with topic.subscribe_from_beginning() as subscription:
        assert drain(subscription) == []
    assert subscription.end is not None
    assert subscription.end.error == error


def test_a_seal_by_another_process_refuses_everybody(topic: Topic, peer: Peer) -> None:
    topic.append(b"x")
    peer.seal(topic.name)
    with pytest.raises(TopicSealedError):
        topic.append(b"late")
    assert read_sealed(topic) == [b"x"]


def test_a_client_opened_later_knows_the_seal(connect: Connect, name: str) -> None:
    connect().topic(name).seal()
    with pytest.raises(TopicSealedError):
        connect().topic(name).append(b"late")


def test_what_is_appended_after_close_returned_is_never_returned(topic: Topic, peer: Peer) -> None:
    for number in range(30):
        with topic.subscribe_from_tail() as subscription:
            if number % 2:
                nothing(subscription)
            subscription.close()
            peer.append(topic.name, b"late")
            assert subscription.receive(timeout=0.01) is CLOSED


def test_a_close_that_races_with_appends_ends_in_closed_for_good(topic: Topic, peer: Peer) -> None:
    for _ in range(20):
        with topic.subscribe_from_tail() as subscription:
            closing = Background(subscription.close)
            peer.append(topic.name, b"x")
            closing.result()
            assert subscription.receive(timeout=0) is CLOSED


def test_subscribing_needs_no_right_to_write(connect: Connect, faulty: FaultyBackend, name: str, peer: Peer) -> None:
    faulty.always("append", Fail())
    faulty.always("seal", Fail())
    topic = connect(faulty).topic(name)
    cursor = topic.checkpoint()
    with topic.subscribe_from_tail() as tail, topic.subscribe_from_beginning() as beginning:
        peer.append(name, b"x")
        assert payloads(take(tail, 1)) == payloads(take(beginning, 1)) == [b"x"]
    assert read_all(topic.subscribe_from_cursor(cursor), 1) == [b"x"]
    assert (faulty.calls["append"], faulty.calls["seal"]) == (0, 0)


def test_subscribing_and_closing_leave_no_topic_behind(topic: Topic, store: StoreUnderTest) -> None:
    for _ in range(20):
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
        topic.subscribe_from_beginning().close()
        topic.subscribe_from_beginning()
    assert store.operations.topics(prefix=topic.name) == []


def test_a_cursor_of_a_topic_recreated_in_the_same_moment_is_refused_200_times_of_200(
    topic: Topic, store: StoreUnderTest
) -> None:
    for _ in range(200):
        topic.append(b"same")
        cursor = topic.checkpoint()
        store.recreate(topic.name, [b"same"])
        refused(topic, cursor)


@pytest.mark.parametrize("cursor", NO_CURSORS.values(), ids=NO_CURSORS)
def test_what_is_no_cursor_does_not_touch_the_store(
    connect: Connect, faulty: FaultyBackend, name: str, cursor: TopicCursor
) -> None:
    topic = connect(faulty).topic(name)
    refused(topic, cursor)
    assert not faulty.calls


def test_a_reader_before_and_a_reader_after_the_expiry_agree_on_the_end(
    topic: Topic, peer_topic: Topic, store: StoreUnderTest
) -> None:
    cursors = fill(topic, 3)
    with topic.subscribe_from_beginning() as early:
        take(early, 3)
        peer_topic.seal(error="over")
        assert drain(early) == []
    store.trim(topic.name, keep=0)
    with peer_topic.subscribe_from_cursor(cursors[2]) as late:
        assert drain(late) == []
    assert early.end == late.end


def read_sealed(topic: Topic) -> list[bytes]:
    with topic.subscribe_from_beginning() as subscription:
        return drain(subscription)
