"""Entering: it returns once it is confirmed, once; what was before it is not heard, what comes after it is."""

import pytest

from tailrace.broadcast import CLOSED, BroadcastChannel, BroadcastUnavailableError, Topic
from tailrace.broadcast import protocols as contract
from tailrace.testing.broadcast.drivers import Channel
from tailrace.testing.broadcast.listening import hear, silence
from tailrace.testing.broadcast.place import PlaceUnderTest
from tailrace.testing.outcome import not_run


class TestEntering:
    def test_the_objects_are_what_the_protocols_say(self, channel: Channel, topic: Topic) -> None:
        assert isinstance(channel, BroadcastChannel)
        assert isinstance(topic, contract.Topic)
        assert isinstance(topic.as_producer(), contract.Producer)
        assert isinstance(topic.as_subscriber(), contract.Subscriber)
        assert isinstance(topic.subscribe(), contract.Subscription)

    def test_whatever_is_published_after_entering_arrives(self, topic: Topic, peer_topic: Topic) -> None:
        for number in range(50):
            with topic.as_subscriber().subscribe() as subscription:
                peer_topic.as_producer().publish(b"%d" % number)
                assert hear(subscription, 1) == [b"%d" % number]

    def test_so_it_does_for_whoever_joins_others(self, topic: Topic, peer_topic: Topic) -> None:
        with topic.subscribe() as first:
            for number in range(50):
                with topic.subscribe() as subscription:
                    peer_topic.publish(b"%d" % number)
                    assert hear(subscription, 1) == [b"%d" % number]
            assert hear(first, 50) == [b"%d" % number for number in range(50)]

    def test_what_was_published_before_entering_is_not_heard(
        self, topic: Topic, peer_topic: Topic, place: PlaceUnderTest
    ) -> None:
        if not place.ordered_entry:
            not_run(f"{place.name} hands messages on between its servers")
        with topic.subscribe() as first:
            for _ in range(50):
                peer_topic.publish(b"before")
                with topic.subscribe() as subscription:
                    peer_topic.publish(b"after")
                    assert hear(subscription, 1) == [b"after"]
            assert hear(first, 100) == [b"before", b"after"] * 50

    def test_whoever_has_entered_comes_after_what_the_others_have_been_told(
        self, topic: Topic, peer_topic: Topic, place: PlaceUnderTest
    ) -> None:
        if not place.ordered_entry:
            not_run(f"{place.name} hands messages on between its servers")
        with topic.subscribe() as first:
            for number in range(30):
                peer_topic.publish(b"%d" % number)
                with topic.subscribe():
                    assert first.receive(timeout=0) == b"%d" % number

    def test_what_nobody_heard_is_not_kept_for_the_next(self, topic: Topic, peer_topic: Topic) -> None:
        with topic.subscribe() as subscription:
            silence(subscription)
        peer_topic.publish(b"to nobody")
        with topic.subscribe() as subscription:
            silence(subscription)
            peer_topic.publish(b"to somebody")
            assert hear(subscription, 1) == [b"to somebody"]

    def test_a_subscription_is_entered_once(self, topic: Topic) -> None:
        with topic.subscribe() as subscription:
            with pytest.raises(BroadcastUnavailableError):
                subscription.__enter__()
            topic.publish(b"still there")
            assert hear(subscription, 1) == [b"still there"]
        with pytest.raises(BroadcastUnavailableError):
            subscription.__enter__()
        assert subscription.receive(timeout=0) is CLOSED

    def test_receiving_before_entering_is_an_error(self, topic: Topic) -> None:
        subscription = topic.subscribe()
        with pytest.raises(BroadcastUnavailableError):
            subscription.receive(timeout=0)
        with subscription:
            topic.publish(b"x")
            assert hear(subscription, 1) == [b"x"]
