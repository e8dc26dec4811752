"""S20 among greenlets: a kill or a ``gevent.Timeout`` at every moment of a delivery. Run by patched.py."""

import time
from collections.abc import Iterator
from pathlib import Path

import gevent
import pytest
from gevent import monkey

import tailrace
from tailrace import DurableStreamRecord, StreamClient, Subscription

PATIENCE = 20.0
ROUNDS = 60


@pytest.fixture(params=["memory", "sqlite"])
def streams(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StreamClient]:
    """A client of each store."""
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/events.db"
    with tailrace.connect(url) as client:
        yield client


def rest(subscription: Subscription, found: list[bytes], count: int) -> list[bytes]:
    """Receive what is missing, and make sure that nothing follows."""
    while len(found) < count:
        record = subscription.receive(PATIENCE)
        assert isinstance(record, DurableStreamRecord), (record, len(found))
        found.append(record.payload)
    assert subscription.receive(0.02) is None
    return found


@pytest.mark.parametrize("turns", range(8))
@pytest.mark.parametrize("kill_first", [True, False], ids=["kill-first", "append-first"])
def test_a_kill_at_any_turn_of_the_hub_loses_and_repeats_nothing(
    streams: StreamClient, turns: int, kill_first: bool
) -> None:
    topic, found = streams.topic("t"), []
    with topic.subscribe_from_tail() as subscription:
        assert subscription.receive(0.02) is None
        for number in range(ROUNDS):
            reading = gevent.spawn(subscription.receive, PATIENCE)
            gevent.sleep(0)
            if kill_first:
                reading.kill(block=False)
            topic.append(b"%d" % number)
            for _ in range(turns):
                gevent.sleep(0)
            reading.kill()
            if isinstance(reading.value, DurableStreamRecord):
                found.append(reading.value.payload)
        found = rest(subscription, found, ROUNDS)
    assert found == [b"%d" % number for number in range(ROUNDS)]
    assert streams.stats()["subscriptions"] == streams.stats()["live_subscriptions"] == 0


@pytest.mark.parametrize("seconds", [0.0, 0.002])
def test_a_gevent_timeout_that_is_due_when_the_record_is_loses_and_repeats_nothing(
    streams: StreamClient, seconds: float
) -> None:
    topic, found = streams.topic("t"), []

    def read(subscription: Subscription) -> None:
        with gevent.Timeout(seconds, False):
            record = subscription.receive(PATIENCE)
            assert isinstance(record, DurableStreamRecord)
            found.append(record.payload)

    with topic.subscribe_from_tail() as subscription:
        assert subscription.receive(0.02) is None
        for number in range(ROUNDS):
            reading = gevent.spawn(read, subscription)
            gevent.sleep(0)
            writing = gevent.spawn(topic.append, b"%d" % number)
            # The hub stands still until both are due.
            monkey.get_original("time", "sleep")(seconds * 1.5)
            gevent.joinall([reading, writing], timeout=PATIENCE, raise_error=True)
        found = rest(subscription, found, ROUNDS)
    assert found == [b"%d" % number for number in range(ROUNDS)]


def test_the_timeout_of_receive_itself_may_be_due_at_that_moment_too(streams: StreamClient) -> None:
    topic, found = streams.topic("t"), []
    with topic.subscribe_from_tail() as subscription:
        assert subscription.receive(0.02) is None
        for number in range(ROUNDS):
            reading = gevent.spawn(subscription.receive, 0.002)
            gevent.sleep(0)
            writing = gevent.spawn(topic.append, b"%d" % number)
            monkey.get_original("time", "sleep")(0.003)
            gevent.joinall([reading, writing], timeout=PATIENCE, raise_error=True)
            if reading.value is not None:
                found.append(reading.value.payload)
        found = rest(subscription, found, ROUNDS)
    assert found == [b"%d" % number for number in range(ROUNDS)]


def test_a_kill_in_enter_subscribe_or_append_leaves_nothing_behind(streams: StreamClient) -> None:
    topic = streams.topic("t")
    topic.append(b"x")
    for turns in range(60):
        subscription = topic.subscribe_from_beginning()
        calls = [
            gevent.spawn(subscription.__enter__),
            gevent.spawn(topic.subscribe_from_tail),
            gevent.spawn(topic.append, b"y"),
        ]
        for _ in range(turns % 6):
            gevent.sleep(0)
        gevent.killall(calls, timeout=PATIENCE)
        subscription.close()
    assert streams.stats()["subscriptions"] == streams.stats()["live_subscriptions"] == 0
    started = time.monotonic()
    with topic.subscribe_from_tail() as subscription:
        topic.append(b"heard")
        record = None
        # An append that was killed may still be on its way to the store.
        while record is None or record.payload != b"heard":
            record = subscription.receive(PATIENCE)
            assert isinstance(record, DurableStreamRecord)
    assert time.monotonic() - started < 5.0
