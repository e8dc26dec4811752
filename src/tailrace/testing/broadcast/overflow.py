"""Overflow: a buffer is bounded, its policy was chosen, and what is dropped is counted and told."""

import pytest

from tailrace.broadcast import BroadcastOverflowError, Overflow
from tailrace.errors import InvalidArgumentError
from tailrace.testing.broadcast.fixtures import OpenChannel
from tailrace.testing.broadcast.listening import failure, hear, silence, until
from tailrace.testing.broadcast.place import PlaceUnderTest
from tailrace.testing.reading import numbered


class TestOverflow:
    def test_the_oldest_make_room(self, open_channel: OpenChannel, place: PlaceUnderTest) -> None:
        channel = open_channel(buffer_messages=4, overflow=Overflow.DROP_OLDEST)
        topic = channel.topic(place.fresh_name())
        with topic.subscribe() as subscription:
            for payload in numbered(10):
                topic.publish(payload)
            until(lambda: subscription.dropped == 6, "six are dropped")
            assert hear(subscription, 4) == numbered(4, 6)
            topic.publish(b"on")
            assert hear(subscription, 1) == [b"on"]
            assert subscription.dropped == 6
        assert channel.stats()["dropped"] == 6

    def test_the_newest_are_dropped(self, open_channel: OpenChannel, place: PlaceUnderTest) -> None:
        channel = open_channel(buffer_messages=4, overflow=Overflow.DROP_NEWEST)
        topic = channel.topic(place.fresh_name())
        with topic.subscribe() as subscription:
            for payload in numbered(10):
                topic.publish(payload)
            until(lambda: subscription.dropped == 6, "six are dropped")
            assert hear(subscription, 4) == numbered(4)
            topic.publish(b"on")
            assert hear(subscription, 1) == [b"on"]
        assert channel.stats()["dropped"] == 6

    def test_or_it_is_an_error_after_what_was_there(self, open_channel: OpenChannel, place: PlaceUnderTest) -> None:
        channel = open_channel(buffer_messages=4, overflow=Overflow.ERROR)
        topic = channel.topic(place.fresh_name())
        with topic.subscribe() as subscription:
            for payload in numbered(10):
                topic.publish(payload)
            until(lambda: subscription.dropped > 0, "something is dropped")
            heard, error = failure(subscription)
            assert heard == numbered(4)
            assert isinstance(error, BroadcastOverflowError)
            assert error.dropped == subscription.dropped
        assert channel.stats()["subscriptions"] == 0

    def test_an_error_of_one_is_no_error_of_another(self, open_channel: OpenChannel, place: PlaceUnderTest) -> None:
        topic = open_channel(buffer_messages=4, overflow=Overflow.ERROR).topic(place.fresh_name())
        with topic.subscribe() as slow, topic.subscribe() as quick:
            for payload in numbered(10):
                topic.publish(payload)
                assert hear(quick, 1) == [payload]
            assert isinstance(failure(slow)[1], BroadcastOverflowError)
            topic.publish(b"on")
            assert hear(quick, 1) == [b"on"]

    def test_bytes_are_bounded_too(self, open_channel: OpenChannel, place: PlaceUnderTest) -> None:
        topic = open_channel(buffer_bytes=1000).topic(place.fresh_name())
        with topic.subscribe() as subscription:
            for payload in (b"1" * 400, b"2" * 400, b"3" * 400):
                topic.publish(payload)
            until(lambda: subscription.dropped == 1, "one is dropped")
            assert hear(subscription, 2) == [b"2" * 400, b"3" * 400]

    def test_a_single_message_over_the_bound_still_fits(self, open_channel: OpenChannel, place: PlaceUnderTest) -> None:
        topic = open_channel(buffer_bytes=10).topic(place.fresh_name())
        with topic.subscribe() as subscription:
            topic.publish(b"x" * 100)
            assert hear(subscription, 1) == [b"x" * 100]
            assert subscription.dropped == 0

    def test_whoever_keeps_up_misses_nothing(self, open_channel: OpenChannel, place: PlaceUnderTest) -> None:
        topic = open_channel(buffer_messages=1, overflow=Overflow.ERROR).topic(place.fresh_name())
        with topic.subscribe() as subscription:
            for payload in numbered(50):
                topic.publish(payload)
                assert hear(subscription, 1) == [payload]
            silence(subscription)
            assert subscription.dropped == 0

    @pytest.mark.parametrize("options", [{"buffer_messages": 0}, {"buffer_bytes": -1}, {"overflow": "drop-oldest"}])
    def test_a_bound_or_a_policy_that_is_none_is_refused(
        self, open_channel: OpenChannel, options: dict[str, object]
    ) -> None:
        with pytest.raises(InvalidArgumentError):
            open_channel(**options)  # type: ignore[arg-type]
