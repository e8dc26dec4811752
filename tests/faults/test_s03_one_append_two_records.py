"""S03: a reply that is lost must not turn one append into two records."""

import contextlib
import time

import pytest

from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.drivers import Topic
from tailrace.testing.faults import Fail, FaultyBackend, LoseReply, Pause, Stall
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import PATIENCE, Background, drain, numbered, payloads, take
from tailrace.testing.servers.waiting import until
from tailrace.testing.stores import StoreUnderTest

LOSSES = {
    "unknown": None,
    "connection-reset": ConnectionResetError(104, "reset by peer"),
    "timeout": TimeoutError("timed out"),
    "driver-error": RuntimeError("whatever a driver raises"),
    "mapped": DurableStreamUnavailableError("no reply", maybe_stored=True),
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


@every_loss
def test_one_append_is_at_most_one_record_and_says_that_it_does_not_know(
    connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest, loss: Exception | None
) -> None:
    topic = connect(faulty).topic(name)
    faulty.next("append", LoseReply(loss))
    with pytest.raises(DurableStreamUnavailableError) as caught:
        topic.append(b"x")
    assert caught.value.maybe_stored is True
    assert store.contents(name) == [b"x"]
    assert faulty.entries == 1


@every_loss
def test_a_batch_is_at_most_stored_once(
    connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest, loss: Exception | None
) -> None:
    topic = connect(faulty).topic(name)
    faulty.next("append", LoseReply(loss))
    with pytest.raises(DurableStreamUnavailableError):
        topic.append_many(numbered(10))
    assert store.contents(name) == numbered(10)


@every_loss
def test_of_many_callers_in_one_commit_each_is_told_and_none_is_stored_twice(
    connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest, loss: Exception | None
) -> None:
    topic = connect(faulty).topic(name)
    faulty.next("append", Pause(0.2))
    faulty.next("append", LoseReply(loss), times=3)

    def append(payload: bytes) -> bool:
        try:
            topic.append(payload)
        except DurableStreamUnavailableError as error:
            assert error.maybe_stored is True  # noqa: PT017
            return False
        return True

    calls = {payload: Background(lambda payload=payload: append(payload)) for payload in numbered(32)}  # type: ignore[misc]
    outcomes = {payload: call.result() for payload, call in calls.items()}
    found = store.contents(name)
    assert len(found) == len(set(found))
    assert {payload for payload, known in outcomes.items() if known} <= set(found)
    assert not all(outcomes.values())


def test_a_live_reader_sees_the_record_once(connect: Connect, faulty: FaultyBackend, name: str) -> None:
    topic = connect(faulty, poll_unsure=0.05, poll_healthy=0.05).topic(name)
    with topic.subscribe_from_tail() as subscription:
        faulty.next("append", LoseReply())
        with pytest.raises(DurableStreamUnavailableError):
            topic.append(b"x")
        assert payloads(take(subscription, 1)) == [b"x"]
        topic.seal()
        assert drain(subscription) == []


def test_the_callers_own_retry_may_duplicate_and_nothing_else_does(
    connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest
) -> None:
    topic = connect(faulty).topic(name)
    faulty.next("append", LoseReply())
    with pytest.raises(DurableStreamUnavailableError):
        topic.append(b"x")
    topic.append(b"x")
    assert store.contents(name) == [b"x", b"x"]


def test_a_request_that_never_arrived_is_not_sent_by_itself_later(
    connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest
) -> None:
    topic = connect(faulty).topic(name)
    faulty.next("append", Fail(), times=2)
    for _ in range(2):
        with pytest.raises(DurableStreamUnavailableError) as caught:
            topic.append(b"lost")
        assert caught.value.maybe_stored is False
    topic.append(b"x")
    assert store.contents(name) == [b"x"]


def test_a_seal_whose_reply_was_lost_may_be_repeated(
    connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest
) -> None:
    topic = connect(faulty).topic(name)
    topic.append(b"x")
    faulty.next("seal", LoseReply())
    with pytest.raises(DurableStreamUnavailableError):
        topic.seal(error="first")
    topic.seal(error="second")
    with topic.subscribe_from_beginning() as subscription:
        assert drain(subscription) == [b"x"]
    assert subscription.end is not None
    assert subscription.end.error == "first"


def append_once_it_is_free(topic: Topic, payload: bytes) -> None:
    """Append; while the slow commit is still in the way, callers are refused, and may try again safely."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return topic.append(payload)
        except DurableStreamUnavailableError as error:
            if error.maybe_stored or time.monotonic() > deadline:
                raise


def test_a_commit_that_is_slower_than_its_followers_wait_is_unknown_to_them_and_stored_once(
    connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest
) -> None:
    topic = connect(faulty, append_timeout=2.0).topic(name)
    gathering, slow = Stall(), Stall()
    faulty.next("append", gathering)
    faulty.next("append", slow)
    first = Background(lambda: topic.append(b"first"))
    assert gathering.reached.wait(PATIENCE)
    others = [Background(lambda payload=payload: topic.append(payload)) for payload in numbered(8)]  # type: ignore[misc]
    time.sleep(0.1)
    gathering.release()
    first.result()
    assert slow.reached.wait(PATIENCE)
    until(lambda: any(not other.running for other in others), "a follower has waited as long as it would")
    slow.release()
    for other in others:
        with contextlib.suppress(DurableStreamUnavailableError):
            other.result(PATIENCE)
    append_once_it_is_free(topic, b"last")
    found = store.contents(name)
    assert len(found) == len(set(found))
    assert found[-1] == b"last"
