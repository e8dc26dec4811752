"""Idle waits: None comes at the timeout, neither early nor late, and waiting costs nothing."""

import time

import pytest

from tailrace.testing.drivers import Client, Subscription, Topic
from tailrace.testing.faults import FaultyBackend
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import PATIENCE, Background, nothing

TOLERANCE = 0.1
"""Seconds that None may come late where the machine does not hold up the caller."""

IDLE = 0.5


class TestIdleWaits:
    @pytest.mark.parametrize("timeout", [0, 0.01, IDLE])
    @pytest.mark.parametrize("exists", [True, False], ids=["a-topic", "no-topic-yet"])
    def test_none_comes_neither_early_nor_late(self, topic: Topic, timeout: float, exists: bool) -> None:
        if exists:
            topic.append(b"x")
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            took = [_seconds(subscription, timeout) for _ in range(2)]
        assert min(took) >= timeout
        # The best: a busy machine may hold up any one of them, and a wait of the wrong length all.
        assert min(took) < timeout + TOLERANCE

    def test_readers_that_wait_side_by_side_each_have_their_own_timeout(self, topic: Topic) -> None:
        timeouts = [0.05, 0.2, IDLE]
        subscriptions = [topic.subscribe_from_tail().__enter__() for _ in timeouts]
        waiting = [
            Background(lambda one=one, timeout=timeout: _seconds(one, timeout))  # type: ignore[misc]
            for one, timeout in zip(subscriptions, timeouts, strict=True)
        ]
        for call, timeout in zip(waiting, timeouts, strict=True):
            assert timeout <= call.result(PATIENCE) < timeout + 1.0
        for subscription in subscriptions:
            subscription.close()

    def test_an_idle_wait_asks_the_store_for_nothing(
        self, connect: Connect, faulty: FaultyBackend, topic: Topic, name: str
    ) -> None:
        client = connect(faulty)
        topic.append(b"x")
        with client.topic(name).subscribe_from_tail() as subscription:
            nothing(subscription)
            looks = min(_looks(client, faulty, subscription) for _ in range(2))
        # A fallback read may fall into it, where hints are not sure to arrive; a loop would make hundreds.
        assert looks <= 4

    def test_an_idle_wait_takes_no_processor_time(self, topic: Topic) -> None:
        topic.append(b"x")
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            assert min(_processor_seconds(subscription) for _ in range(2)) < IDLE / 4


def _seconds(subscription: Subscription, timeout: float) -> float:
    started = time.monotonic()
    assert subscription.receive(timeout=timeout) is None
    return time.monotonic() - started


def _looks(client: Client, faulty: FaultyBackend, subscription: Subscription) -> int:
    before = client.stats()["pump_rounds"] + faulty.calls["read"] + faulty.calls["bounds"]
    assert subscription.receive(timeout=IDLE) is None
    looks: int = client.stats()["pump_rounds"] + faulty.calls["read"] + faulty.calls["bounds"] - before
    return looks


def _processor_seconds(subscription: Subscription) -> float:
    before = time.process_time()
    assert subscription.receive(timeout=IDLE) is None
    return time.process_time() - before
