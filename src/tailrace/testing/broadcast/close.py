"""Close: idempotent, never raises, from any thread, unblocks at once, and leaves nothing at the place."""

import time

import pytest

from tailrace.broadcast import CLOSED, BroadcastUnavailableError, Subscription, Topic
from tailrace.testing.broadcast.drivers import Channel
from tailrace.testing.broadcast.listening import hear, silence
from tailrace.testing.broadcast.place import PlaceUnderTest
from tailrace.testing.reading import PATIENCE, Background, numbered


class TestClose:
    def test_close_unblocks_receive_within_a_tenth_of_a_second(self, topic: Topic) -> None:
        # The best of a few: a busy machine may hold up any one of them, and a slow close holds up all.
        assert min(_seconds_to_unblock(topic.subscribe()) for _ in range(5)) < 0.1

    def test_close_ends_iteration(self, topic: Topic) -> None:
        with topic.subscribe() as subscription:
            iterating = Background(lambda: list(subscription))
            subscription.close()
            assert iterating.result() == []

    def test_close_returns_none_however_often(self, topic: Topic) -> None:
        with topic.subscribe() as subscription:
            for _ in range(3):
                assert subscription.close() is None  # type: ignore[func-returns-value]
        assert subscription.close() is None  # type: ignore[func-returns-value]

    def test_close_before_entering_is_harmless(self, topic: Topic) -> None:
        subscription = topic.subscribe()
        subscription.close()
        assert subscription.receive(timeout=0) is CLOSED
        with pytest.raises(BroadcastUnavailableError):
            subscription.__enter__()

    def test_nothing_is_returned_after_close_though_it_was_there(self, topic: Topic) -> None:
        with topic.subscribe() as subscription:
            for payload in numbered(10):
                topic.publish(payload)
            hear(subscription, 1)
            subscription.close()
            topic.publish(b"late")
            assert subscription.receive(timeout=0.05) is CLOSED
            assert subscription.receive(timeout=0) is CLOSED

    def test_an_error_in_the_block_closes_and_comes_through(self, topic: Topic) -> None:
        with pytest.raises(ZeroDivisionError), topic.subscribe() as subscription:
            raise ZeroDivisionError
        assert subscription.receive(timeout=0) is CLOSED

    def test_close_from_many_threads_at_once_ends_one_receive(self, topic: Topic) -> None:
        with topic.subscribe() as subscription:
            waiting = Background(lambda: subscription.receive(timeout=PATIENCE))
            for closing in [Background(subscription.close) for _ in range(8)]:
                closing.result()
            assert waiting.result() is CLOSED

    def test_subscribing_and_closing_leave_nothing_behind(self, topic: Topic, place: PlaceUnderTest) -> None:
        before = place.kept()
        for _ in range(3):
            with topic.subscribe() as subscription:
                silence(subscription)
            topic.prepare().close()
        assert place.kept() == before

    def test_subscribing_and_closing_add_nothing_to_what_is_there(
        self, topic: Topic, peer_topic: Topic, place: PlaceUnderTest
    ) -> None:
        with topic.subscribe() as witness:
            peer_topic.publish(b"1")
            before = place.kept()
            for _ in range(3):
                with topic.subscribe() as subscription:
                    silence(subscription)
            assert place.kept() == before
            assert hear(witness, 1) == [b"1"]
            silence(witness)

    def test_the_end_of_a_channel_ends_its_subscriptions_and_nobody_elses(
        self, channel: Channel, topic: Topic, peer_topic: Topic
    ) -> None:
        with peer_topic.subscribe() as other, topic.subscribe() as subscription:
            waiting = Background(lambda: subscription.receive(timeout=PATIENCE))
            channel.close()
            channel.close()
            assert waiting.result() is CLOSED
            with pytest.raises(BroadcastUnavailableError):
                topic.publish(b"x")
            with pytest.raises(BroadcastUnavailableError):
                topic.subscribe().__enter__()
            peer_topic.publish(b"on")
            assert hear(other, 1) == [b"on"]


def _seconds_to_unblock(subscription: Subscription) -> float:
    with subscription:
        silence(subscription)
        ended: list[float] = []

        def wait() -> object:
            answer = subscription.receive(timeout=PATIENCE)
            ended.append(time.monotonic())
            return answer

        waiting = Background(wait)
        began = time.monotonic()
        subscription.close()
        assert waiting.result() is CLOSED
        return ended[0] - began
