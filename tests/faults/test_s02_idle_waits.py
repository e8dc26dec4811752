"""S02: a wait that is longer than any driver's own patience ends on time, and the record that ends it is not lost."""

import time

import pytest

from tailrace.records import DurableStreamRecord
from tailrace.testing.drivers import Subscription, Topic
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import Background, nothing, numbered, payloads, take

pytestmark = pytest.mark.long

QUIET = 4.9
EVERY = 0.05
COUNT = 32
AT_ONCE = 0.5
"""Seconds: less than until a store is looked at anyway, and more than the pause of one that is asked (0.1)."""


def _wait(subscription: Subscription, timeout: float) -> tuple[float, object]:
    started = time.monotonic()
    answer = subscription.receive(timeout=timeout)
    return time.monotonic() - started, answer


@pytest.mark.parametrize("exists", [True, False], ids=["a-topic", "no-topic-yet"])
def test_long_idle_waits_end_at_their_timeouts(topic: Topic, exists: bool) -> None:
    if exists:
        topic.append(b"x")
    timeouts = [1.0, 2.5, 5.0, 7.0]
    subscriptions = [topic.subscribe_from_tail().__enter__() for _ in timeouts]
    waiting = [
        Background(lambda one=one, timeout=timeout: _wait(one, timeout))  # type: ignore[misc]
        for one, timeout in zip(subscriptions, timeouts, strict=True)
    ]
    for call, timeout in zip(waiting, timeouts, strict=True):
        took, answer = call.result()
        assert answer is None
        assert timeout <= took < timeout + 0.5
    for subscription in subscriptions:
        subscription.close()


def test_the_first_record_after_a_long_quiet_comes_at_once_and_all_follow(
    topic: Topic, connect: Connect, name: str
) -> None:
    writer = connect().topic(name)
    with topic.subscribe_from_tail() as subscription:
        nothing(subscription)
        waiting = Background(lambda: (subscription.receive(timeout=7.0), time.monotonic()))
        time.sleep(QUIET)
        written = time.monotonic()
        for payload in numbered(COUNT):
            writer.append(payload)
            time.sleep(EVERY)
        first, came = waiting.result()
        assert isinstance(first, DurableStreamRecord)
        assert came - written < AT_ONCE
        assert [first.payload, *payloads(take(subscription, COUNT - 1))] == numbered(COUNT)
        nothing(subscription)
