"""A connection that is lost: whoever listened is told, whoever listens anew hears again, nothing waits in silence."""

import pytest

from tailrace.broadcast import BroadcastUnavailableError, Subscription, Topic
from tailrace.testing.broadcast.drivers import Channel
from tailrace.testing.broadcast.fixtures import OpenChannel
from tailrace.testing.broadcast.listening import failure, hear
from tailrace.testing.broadcast.place import PlaceUnderTest
from tailrace.testing.reading import PATIENCE, Background


class TestConnectionLoss:
    def test_a_waiting_receive_is_told(self, topic: Topic, place: PlaceUnderTest) -> None:
        with topic.subscribe() as subscription:
            waiting = Background(lambda: subscription.receive(timeout=PATIENCE))
            with place.broken(), pytest.raises(BroadcastUnavailableError):
                waiting.result()

    def test_all_are_told_after_what_they_had_heard(self, topic: Topic, place: PlaceUnderTest) -> None:
        with topic.subscribe() as first, topic.subscribe() as second:
            topic.publish(b"1")
            topic.publish(b"2")
            assert hear(first, 2) == [b"1", b"2"]
            assert hear(second, 1) == [b"1"]
            with place.broken():
                assert failure(first)[0] == []
                heard, error = failure(second)
            assert heard == [b"2"]
            assert isinstance(error, BroadcastUnavailableError)

    def test_one_that_is_prepared_is_told_when_it_is_entered_or_used(
        self, topic: Topic, place: PlaceUnderTest, channel: Channel
    ) -> None:
        with topic.subscribe() as witness:
            subscription = topic.prepare()
            with place.broken():
                failure(witness)
                with pytest.raises(BroadcastUnavailableError):
                    _enter_and_use(subscription)
        assert channel.stats()["subscriptions"] == 0

    def test_entering_and_publishing_are_refused_while_it_lasts(
        self, open_channel: OpenChannel, place: PlaceUnderTest
    ) -> None:
        topic = open_channel(publish_timeout=2.0, confirm_timeout=2.0).topic(place.fresh_name())
        with place.broken():
            with pytest.raises(BroadcastUnavailableError):
                topic.publish(b"x")
            with pytest.raises(BroadcastUnavailableError):
                topic.subscribe().__enter__()

    def test_the_same_channel_goes_on_afterwards(self, topic: Topic, peer_topic: Topic, place: PlaceUnderTest) -> None:
        with topic.subscribe() as subscription, place.broken():
            failure(subscription)
        for _ in range(3):
            with topic.subscribe() as subscription:
                peer_topic.publish(b"again")
                assert hear(subscription, 1) == [b"again"]

    def test_how_many_were_lost_is_counted(self, channel: Channel, topic: Topic, place: PlaceUnderTest) -> None:
        with topic.subscribe() as first, topic.subscribe() as second, place.broken():
            failure(first)
            failure(second)
        assert channel.stats()["lost"] == 2


def _enter_and_use(subscription: Subscription) -> object:
    # Another one may have been told a moment earlier: then this one is entered, and told on its first use.
    subscription.__enter__()
    return subscription.receive(timeout=PATIENCE)
