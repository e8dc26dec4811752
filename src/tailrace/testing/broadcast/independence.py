"""Independence: no subscription keeps a message from another, slows it down, or ends it; nor do many at once."""

from tailrace.broadcast import CLOSED, Topic
from tailrace.testing.broadcast.drivers import Channel
from tailrace.testing.broadcast.fixtures import OpenChannel
from tailrace.testing.broadcast.listening import hear, until
from tailrace.testing.broadcast.place import PlaceUnderTest
from tailrace.testing.reading import Background, numbered


class TestIndependence:
    def test_every_subscription_hears_everything(self, topic: Topic, peer_topic: Topic) -> None:
        with topic.subscribe() as first, topic.subscribe() as second, peer_topic.subscribe() as third:
            for payload in numbered(50):
                peer_topic.publish(payload)
            for subscription in (first, second, third):
                assert hear(subscription, 50) == numbered(50)

    def test_one_that_is_closed_takes_nothing_from_the_others(self, topic: Topic, peer_topic: Topic) -> None:
        with topic.subscribe() as stays:
            for payload in numbered(30):
                with topic.subscribe() as goes:
                    goes.close()
                    peer_topic.publish(payload)
                assert goes.receive(timeout=0) is CLOSED
            assert hear(stays, 30) == numbered(30)

    def test_one_that_is_dropped_without_being_closed_is_let_go_of(
        self, channel: Channel, topic: Topic, place: PlaceUnderTest
    ) -> None:
        topic.prepare()
        with channel.topic(place.fresh_name()).subscribe():
            until(lambda: channel.stats()["topics"] == 1, "the abandoned topic is left")

    def test_a_slow_one_holds_up_neither_the_others_nor_producers(
        self, open_channel: OpenChannel, peer_topic: Topic, place: PlaceUnderTest
    ) -> None:
        slow, quick = open_channel(buffer_messages=4), open_channel(buffer_messages=1000)
        name = place.last_name
        with slow.topic(name).subscribe() as idle, quick.topic(name).subscribe() as subscription:
            for payload in numbered(500):
                peer_topic.publish(payload)
            assert hear(subscription, 500) == numbered(500)
            until(lambda: idle.dropped == 496, "the slow one has dropped what does not fit")

    def test_five_producers_and_five_subscribers_at_once(
        self, open_channel: OpenChannel, place: PlaceUnderTest
    ) -> None:
        name, each = place.fresh_name(), 100
        listening, sending = open_channel(buffer_messages=5 * each), open_channel()
        subscriptions = [listening.topic(name).subscribe() for _ in range(5)]
        for subscription in subscriptions:
            subscription.__enter__()

        def produce(producer: int) -> None:
            topic = sending.topic(name)
            for number in range(each):
                topic.publish(b"%d:%d" % (producer, number))

        producers = [Background(lambda producer=producer: produce(producer)) for producer in range(5)]  # type: ignore[misc]
        listeners = [Background(lambda one=one: hear(one, 5 * each)) for one in subscriptions]  # type: ignore[misc]
        for working in producers:
            working.result(timeout=60)
        orders = [listener.result(timeout=60) for listener in listeners]
        for heard in orders:
            for producer in range(5):
                mine = [message for message in heard if message.startswith(b"%d:" % producer)]
                assert mine == [b"%d:%d" % (producer, number) for number in range(each)]
        for subscription in subscriptions:
            assert subscription.dropped == 0
            subscription.close()
