"""Append: returns once the store has accepted the record and given it a stable place."""

import pytest

from tailrace.errors import DurableStreamUnavailableError, PayloadTooLargeError
from tailrace.protocols import DurableStreamProducer, DurableStreamTopic
from tailrace.testing.drivers import Client, Topic
from tailrace.testing.faults import FaultyBackend
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import Background, numbered, payloads, read_all, take
from tailrace.testing.stores import StoreUnderTest

ODD = {
    "empty": b"",
    "nul": b"\0",
    "nul-inside": b"a\0b\0",
    "invalid-utf8": b"\xff\xfe\xc3\x28",
    "lone-surrogate": b"\xed\xa0\x80",
    "every-byte": bytes(range(256)),
    "newlines": b"\r\n\n\r",
    "json-that-databases-refuse": b'{"n": 1e400, "t": "\\u0000"}',
    "two-megabytes": bytes(range(256)) * 8192,
}


class TestAppend:
    def test_append_returns_none(self, topic: Topic) -> None:
        assert topic.append(b"x") is None  # type: ignore[func-returns-value]

    @pytest.mark.parametrize("payload", ODD.values(), ids=ODD)
    def test_a_payload_comes_back_unchanged(
        self, topic: Topic, peer_topic: Topic, store: StoreUnderTest, payload: bytes
    ) -> None:
        payload = payload[: store.tool.capabilities.max_payload]
        topic.append(payload)
        with peer_topic.subscribe_from_beginning() as subscription:
            (record,) = take(subscription, 1)
        assert type(record.payload) is bytes
        assert record.payload == payload

    def test_an_acknowledged_record_is_readable_at_once_through_another_handle(
        self, topic: Topic, peer_topic: Topic
    ) -> None:
        for number in range(20):
            subscription = peer_topic.subscribe_from_tail()
            topic.append(b"%d" % number)
            with subscription:
                assert payloads(take(subscription, 1)) == [b"%d" % number]

    def test_an_acknowledged_record_is_in_the_store(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append(b"x")
        assert store.contents(topic.name) == [b"x"]

    def test_records_of_one_caller_keep_their_order(self, topic: Topic) -> None:
        for payload in numbered(50):
            topic.append(payload)
        assert read_all(topic.subscribe_from_beginning(), 50) == numbered(50)

    def test_equal_payloads_are_two_records(self, topic: Topic) -> None:
        topic.append(b"same")
        topic.append(b"same")
        assert read_all(topic.subscribe_from_beginning(), 2) == [b"same", b"same"]

    def test_concurrent_calls_are_all_stored_and_none_twice(
        self, topic: Topic, peer_topic: Topic, store: StoreUnderTest
    ) -> None:
        def run(target: Topic, start: int) -> None:
            for payload in numbered(25, start):
                target.append(payload)

        calls = [
            Background(lambda target=target, start=start: run(target, start))  # type: ignore[misc]
            for start, target in zip(range(0, 200, 25), [topic, peer_topic] * 4, strict=True)
        ]
        for call in calls:
            call.result()
        found = store.contents(topic.name)
        assert sorted(found) == sorted(numbered(200))
        for start in range(0, 200, 25):
            mine = set(numbered(25, start))
            assert [payload for payload in found if payload in mine] == numbered(25, start)

    def test_a_producer_appends_to_its_topic(self, topic: Topic) -> None:
        topic.as_producer().append(b"x")
        assert read_all(topic.subscribe_from_beginning(), 1) == [b"x"]

    def test_a_producer_can_only_append(self, topic: Topic) -> None:
        producer = topic.as_producer()
        assert isinstance(producer, DurableStreamProducer)
        assert not isinstance(producer, DurableStreamTopic)
        assert not hasattr(producer, "subscribe_from_beginning")
        assert not hasattr(producer, "seal")

    def test_a_topic_is_a_durable_stream_topic(self, topic: Topic) -> None:
        assert isinstance(topic, DurableStreamTopic)

    def test_two_topic_objects_of_one_name_are_one_topic(self, streams: Client, name: str) -> None:
        streams.topic(name).append(b"a")
        streams.topic(name).append(b"b")
        assert read_all(streams.topic(name).subscribe_from_beginning(), 2) == [b"a", b"b"]

    def test_a_payload_over_the_limit_is_refused_before_the_store_is_asked(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, max_payload=10).topic(name)
        with pytest.raises(PayloadTooLargeError, match="10") as caught:
            topic.append(b"x" * 11)
        assert (caught.value.size, caught.value.limit) == (11, 10)
        assert faulty.calls["append"] == 0

    def test_a_payload_at_the_limit_is_accepted(self, connect: Connect, name: str) -> None:
        topic = connect(max_payload=10).topic(name)
        topic.append(b"x" * 10)
        assert read_all(topic.subscribe_from_beginning(), 1) == [b"x" * 10]

    def test_a_closed_client_refuses_to_append_and_stores_nothing(
        self, connect: Connect, name: str, store: StoreUnderTest
    ) -> None:
        client = connect()
        topic = client.topic(name)
        client.close()
        with pytest.raises(DurableStreamUnavailableError) as caught:
            topic.append(b"x")
        assert caught.value.maybe_stored is False
        assert store.contents(name) == []
