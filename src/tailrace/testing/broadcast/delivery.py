"""Delivery: every payload unchanged, in its producer's order, to its own topic; bad arguments are refused."""

import pytest

from tailrace.broadcast import Topic
from tailrace.errors import InvalidArgumentError, InvalidTopicNameError, InvalidTypeError, PayloadTooLargeError
from tailrace.testing.broadcast.drivers import Channel
from tailrace.testing.broadcast.fixtures import OpenChannel
from tailrace.testing.broadcast.listening import hear, silence
from tailrace.testing.broadcast.place import PlaceUnderTest
from tailrace.testing.reading import Background, numbered

PAYLOADS = [b"", b"\x00", bytes(range(256)), b"\r\n$-1\r\n", "ß".encode(), b"x" * 100_000]
NAMES = ["}", "{", "a}b", "{a}", "%7D", "ü/日本", " ", "a b\n", "*", "x" * 400]


class TestDelivery:
    def test_a_payload_arrives_unchanged(self, topic: Topic, peer_topic: Topic) -> None:
        with topic.subscribe() as subscription:
            for payload in PAYLOADS:
                peer_topic.publish(payload)
            assert hear(subscription, len(PAYLOADS)) == PAYLOADS

    def test_messages_of_a_producer_arrive_in_its_order(self, topic: Topic, peer_topic: Topic) -> None:
        with topic.subscribe() as subscription:
            for payload in numbered(300):
                peer_topic.publish(payload)
            assert hear(subscription, 300) == numbered(300)

    def test_iteration_brings_the_same(self, topic: Topic, peer_topic: Topic) -> None:
        with topic.subscribe() as subscription:
            for payload in numbered(20):
                peer_topic.publish(payload)
            heard: list[bytes] = []

            def iterate() -> None:
                for message in subscription:
                    heard.append(message)
                    if len(heard) == 20:
                        subscription.close()

            Background(iterate).result()
            assert heard == numbered(20)

    def test_publishing_to_nobody_is_no_error(self, topic: Topic) -> None:
        assert topic.publish(b"x") is None  # type: ignore[func-returns-value]

    def test_a_channel_hears_itself(self, topic: Topic) -> None:
        with topic.subscribe() as subscription:
            topic.publish(b"x")
            assert hear(subscription, 1) == [b"x"]

    @pytest.mark.parametrize("suffix", NAMES)
    def test_topics_are_apart_whatever_they_are_called(
        self, channel: Channel, other_channel: Channel, place: PlaceUnderTest, suffix: str
    ) -> None:
        plain = place.fresh_name()
        with channel.topic(plain).subscribe() as other, channel.topic(plain + suffix).subscribe() as subscription:
            other_channel.topic(plain + suffix).publish(b"here")
            other_channel.topic(plain).publish(b"there")
            assert hear(subscription, 1) == [b"here"]
            assert hear(other, 1) == [b"there"]
            silence(subscription)
            silence(other)

    def test_nothing_comes_to_a_topic_that_was_left(self, channel: Channel, place: PlaceUnderTest) -> None:
        left, followed = channel.topic(place.fresh_name()), channel.topic(place.fresh_name())
        with left.subscribe() as subscription, followed.subscribe() as marker:
            subscription.close()
            left.publish(b"too late")
            followed.publish(b"marker")
            assert hear(marker, 1) == [b"marker"]
        assert channel.stats()["topics"] == 0

    @pytest.mark.parametrize("payload", ["text", None, 1, ["x"]])
    def test_a_payload_that_is_not_bytes_is_refused(self, topic: Topic, payload: object) -> None:
        with pytest.raises(InvalidTypeError):
            topic.publish(payload)  # type: ignore[arg-type]

    def test_a_payload_over_the_limit_is_refused(self, open_channel: OpenChannel, place: PlaceUnderTest) -> None:
        topic = open_channel(max_payload=10).topic(place.fresh_name())
        with topic.subscribe() as subscription:
            with pytest.raises(PayloadTooLargeError):
                topic.publish(b"x" * 11)
            topic.publish(b"x" * 10)
            assert hear(subscription, 1) == [b"x" * 10]

    @pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "x" * 513])
    def test_a_name_that_nobody_could_have_is_refused(self, channel: Channel, name: str) -> None:
        with pytest.raises(InvalidTopicNameError):
            channel.topic(name)

    @pytest.mark.parametrize("timeout", [-1, float("nan"), "1"])
    def test_a_timeout_that_is_none_is_refused_and_ends_nothing(self, topic: Topic, timeout: float) -> None:
        with topic.subscribe() as subscription:
            with pytest.raises(InvalidArgumentError):
                subscription.receive(timeout)
            topic.publish(b"x")
            assert hear(subscription, 1) == [b"x"]
