"""The life of a subscription: entered at most once, and over for good when it is over."""

from collections.abc import Callable

import pytest

from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError
from tailrace.records import CLOSED
from tailrace.testing.drivers import Subscription, Topic
from tailrace.testing.leaks import no_leaks
from tailrace.testing.reading import numbered, payloads, read_until_lost, take
from tailrace.testing.stores import StoreUnderTest


def _closed_before(topic: Topic, store: StoreUnderTest) -> Subscription:
    subscription = topic.subscribe_from_beginning()
    subscription.close()
    return subscription


def _closed_inside(topic: Topic, store: StoreUnderTest) -> Subscription:
    subscription = topic.subscribe_from_beginning()
    subscription.__enter__()
    subscription.close()
    return subscription


def _left(topic: Topic, store: StoreUnderTest) -> Subscription:
    with topic.subscribe_from_beginning() as subscription:
        pass
    return subscription


def _failed_to_enter(topic: Topic, store: StoreUnderTest) -> Subscription:
    subscription = topic.subscribe_from_beginning()
    store.trim(topic.name, keep=0)
    with pytest.raises(CursorUnavailableError):
        subscription.__enter__()
    return subscription


def _lost_its_place(topic: Topic, store: StoreUnderTest) -> Subscription:
    subscription = topic.subscribe_from_tail()
    subscription.__enter__()
    for start in range(0, 6000, 3000):
        topic.append_many(numbered(3000, start))
    store.trim(topic.name, keep=0)
    read_until_lost(subscription)
    return subscription


def _sealed(topic: Topic, store: StoreUnderTest) -> Subscription:
    subscription = topic.subscribe_from_tail()
    subscription.__enter__()
    topic.seal()
    assert subscription.receive(timeout=5) is CLOSED
    return subscription


OVER = [_closed_before, _closed_inside, _left, _failed_to_enter, _lost_its_place, _sealed]
Ending = Callable[[Topic, StoreUnderTest], Subscription]


class TestOneShot:
    def test_entering_returns_the_subscription_itself(self, topic: Topic) -> None:
        subscription = topic.subscribe_from_tail()
        with subscription as entered:
            assert entered is subscription

    def test_entering_twice_is_refused(self, topic: Topic) -> None:
        with topic.subscribe_from_tail() as subscription:
            with pytest.raises(DurableStreamUnavailableError):
                subscription.__enter__()

    def test_receiving_before_entering_is_refused(self, topic: Topic) -> None:
        topic.append(b"x")
        subscription = topic.subscribe_from_beginning()
        with pytest.raises(DurableStreamUnavailableError):
            subscription.receive(timeout=0)

    @pytest.mark.parametrize("over", OVER)
    def test_what_is_over_can_not_be_entered(self, topic: Topic, store: StoreUnderTest, over: Ending) -> None:
        topic.append_many(numbered(3))
        subscription = over(topic, store)
        for _ in range(2):
            with pytest.raises(DurableStreamUnavailableError):
                subscription.__enter__()

    @pytest.mark.parametrize("over", OVER)
    def test_what_is_over_stays_closed(self, topic: Topic, store: StoreUnderTest, over: Ending) -> None:
        topic.append_many(numbered(3))
        subscription = over(topic, store)
        if over is not _sealed:
            topic.append(b"later")
        for timeout in (0, 0.05, 0):
            assert subscription.receive(timeout=timeout) is CLOSED
        assert subscription.close() is None  # type: ignore[func-returns-value]
        assert subscription.receive(timeout=0) is CLOSED

    @pytest.mark.parametrize("over", OVER)
    def test_what_is_over_says_why(self, topic: Topic, store: StoreUnderTest, over: Ending) -> None:
        topic.append_many(numbered(3))
        end = over(topic, store).end
        kinds: dict[Ending, str] = {_failed_to_enter: "failed", _lost_its_place: "failed", _sealed: "sealed"}
        assert end is not None
        assert end.kind == kinds.get(over, "closed")
        assert isinstance(end.exception, CursorUnavailableError) == (end.kind == "failed")

    def test_a_failure_to_enter_releases_everything(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append_many(numbered(3))
        with topic.subscribe_from_tail() as warm:
            topic.append(b"x")
            take(warm, 1)
        store.trim(topic.name, keep=1)
        with no_leaks(pooled_files=10):
            for _ in range(20):
                topic.append(b"y")
                _failed_to_enter(topic, store)

    def test_a_subscription_that_was_never_entered_holds_nothing_up(self, topic: Topic) -> None:
        forgotten = [topic.subscribe_from_beginning() for _ in range(50)]
        topic.append_many(numbered(3))
        with topic.subscribe_from_beginning() as subscription:
            assert payloads(take(subscription, 3)) == numbered(3)
        assert all(one.end is None for one in forgotten)

    def test_many_subscriptions_may_be_entered_in_any_order(self, topic: Topic) -> None:
        starts = []
        for payload in numbered(5):
            starts.append(topic.subscribe_from_tail())
            topic.append(payload)
        for index in (3, 0, 4, 1, 2):
            with starts[index] as subscription:
                assert payloads(take(subscription, 5 - index)) == numbered(5 - index, index)
