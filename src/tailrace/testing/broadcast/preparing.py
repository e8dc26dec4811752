"""Preparing: nothing is missed from then on, delivery comes later, and no old message comes at all."""

import pytest

from tailrace.broadcast import CLOSED, Subscription, Topic
from tailrace.testing.broadcast.drivers import Channel
from tailrace.testing.broadcast.listening import hear, silence
from tailrace.testing.broadcast.place import PlaceUnderTest
from tailrace.testing.outcome import not_run
from tailrace.testing.reading import Background, numbered

EVENTS = numbered(5)


class TestPreparing:
    def test_what_is_published_between_preparing_and_entering_arrives(self, topic: Topic, peer_topic: Topic) -> None:
        peer_topic.publish(b"before")
        subscription = topic.as_subscriber().prepare()
        for payload in EVENTS:
            peer_topic.publish(payload)
        with subscription:
            peer_topic.publish(b"live")
            assert hear(subscription, 6) == [*EVENTS, b"live"]
            silence(subscription)

    def test_where_subscribing_fixes_the_start_that_is_enough(
        self, topic: Topic, peer_topic: Topic, place: PlaceUnderTest
    ) -> None:
        if not place.fixes_starts:
            not_run(f"{place.name} fixes a start when a subscription is entered or prepared")
        for number in range(20):
            peer_topic.publish(b"stale")
            subscription = topic.subscribe()
            peer_topic.publish(b"%d" % number)
            with subscription:
                assert hear(subscription, 1) == [b"%d" % number]
                silence(subscription)

    def test_two_that_are_prepared_at_different_moments_each_keep_their_own(
        self, topic: Topic, peer_topic: Topic
    ) -> None:
        first = topic.prepare()
        peer_topic.publish(b"1")
        second = topic.prepare()
        peer_topic.publish(b"2")
        with second:
            assert hear(second, 1) == [b"2"]
            with first:
                assert hear(first, 2) == [b"1", b"2"]
                peer_topic.publish(b"3")
                assert hear(first, 1) == hear(second, 1) == [b"3"]
            silence(second)

    def test_one_that_is_closed_instead_of_entered_hears_nothing(self, channel: Channel, topic: Topic) -> None:
        subscription = topic.prepare()
        topic.publish(b"x")
        subscription.close()
        assert subscription.receive(timeout=0) is CLOSED
        assert channel.stats()["subscriptions"] == 0

    @pytest.mark.parametrize("late", [False, True], ids=["racing", "all of it before entering"])
    def test_s01_no_run_of_160_loses_an_event_or_sees_a_stale_one(
        self, channel: Channel, other_channel: Channel, place: PlaceUnderTest, late: bool
    ) -> None:
        def prepared(topic: Topic) -> Subscription:
            return topic.subscribe() if place.fixes_starts else topic.prepare()

        def publish_all(worker: Topic) -> None:
            for event in EVENTS:
                worker.publish(event)

        def run(name: str) -> list[list[bytes]]:
            seen = []
            topic, worker = channel.topic(name), other_channel.topic(name)
            for _ in range(20):
                # Of one topic, so that each round has the events of those before it behind it.
                subscription = prepared(topic)
                working = Background(lambda: publish_all(worker))
                if late:
                    working.result()
                with subscription:
                    seen.append(hear(subscription, 5))
                working.result()
                with topic.subscribe() as again:
                    worker.publish(b"marker")
                    seen.append(hear(again, 1))
            return seen

        names = [place.fresh_name() for _ in range(8)]
        runs = [Background(lambda name=name: run(name)) for name in names]  # type: ignore[misc]
        assert [one.result(timeout=120) for one in runs] == [[EVENTS, [b"marker"]] * 20] * 8
