"""append_many: several records in one go, in order, contiguous, all or nothing where the store can."""

import pytest

from tailrace import limits
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError, PayloadTooLargeError, TopicSealedError
from tailrace.testing.drivers import Topic
from tailrace.testing.faults import Fail, FaultyBackend
from tailrace.testing.fixtures import Connect
from tailrace.testing.outcome import not_run
from tailrace.testing.reading import Background, fill, numbered, read_all
from tailrace.testing.stores import StoreUnderTest


class TestAppendMany:
    def test_it_returns_none(self, topic: Topic) -> None:
        assert topic.append_many([b"x"]) is None  # type: ignore[func-returns-value]

    def test_payloads_are_stored_in_order(self, topic: Topic) -> None:
        topic.append_many(numbered(100))
        topic.append_many(numbered(100, 100))
        assert read_all(topic.subscribe_from_beginning(), 200) == numbered(200)

    def test_any_iterable_will_do(self, topic: Topic) -> None:
        topic.append_many(payload for payload in (b"a", b"b"))
        assert read_all(topic.subscribe_from_beginning(), 2) == [b"a", b"b"]

    def test_no_payload_is_no_record(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append_many([])
        assert not store.exists(topic.name)

    def test_a_batch_is_contiguous_whoever_else_appends(
        self, topic: Topic, peer_topic: Topic, store: StoreUnderTest
    ) -> None:
        def batches(target: Topic, letter: bytes) -> None:
            for number in range(10):
                target.append_many([b"%b%d.%d" % (letter, number, index) for index in range(10)])

        first = Background(lambda: batches(topic, b"a"))
        second = Background(lambda: batches(peer_topic, b"b"))
        first.result()
        second.result()
        found = store.contents(topic.name)
        assert len(found) == 200
        for start in range(0, 200, 10):
            head = found[start].removesuffix(b".0")
            assert found[start : start + 10] == [b"%b.%d" % (head, index) for index in range(10)]

    def test_each_record_has_a_cursor_of_its_own(self, topic: Topic) -> None:
        cursors = fill(topic, 10)
        assert len(set(cursors)) == 10
        for index, cursor in enumerate(cursors):
            assert read_all(topic.subscribe_from_cursor(cursor), 9 - index) == numbered(10)[index + 1 :]

    def test_a_batch_is_one_call_to_the_store(self, connect: Connect, faulty: FaultyBackend, name: str) -> None:
        connect(faulty).topic(name).append_many(numbered(500))
        assert faulty.calls["append"] == 1

    def test_the_largest_batch_is_accepted(self, topic: Topic, store: StoreUnderTest) -> None:
        batch = numbered(limits.MAX_APPEND_MANY)
        topic.append_many(batch)
        assert store.contents(topic.name) == batch

    def test_a_larger_batch_is_refused_whole(self, topic: Topic, store: StoreUnderTest) -> None:
        with pytest.raises(InvalidArgumentError, match=str(limits.MAX_APPEND_MANY)):
            topic.append_many(numbered(limits.MAX_APPEND_MANY + 1))
        assert store.contents(topic.name) == []

    def test_one_payload_over_the_limit_refuses_the_batch_before_the_store_is_asked(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        with pytest.raises(PayloadTooLargeError):
            connect(faulty, max_payload=10).topic(name).append_many([b"ok", b"x" * 11])
        assert faulty.calls["append"] == 0

    def test_a_sealed_topic_takes_no_part_of_a_batch(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append(b"before")
        topic.seal()
        with pytest.raises(TopicSealedError):
            topic.append_many([b"a", b"b"])
        assert store.contents(topic.name) == [b"before"]

    def test_a_batch_that_never_reached_the_store_left_nothing(
        self, connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest
    ) -> None:
        if not faulty.capabilities.atomic_batches:
            not_run("the store does not claim that a batch is stored whole or not at all")
        topic = connect(faulty).topic(name)
        faulty.next("append", Fail())
        with pytest.raises(DurableStreamUnavailableError):
            topic.append_many([b"a", b"b"])
        topic.append_many([b"c", b"d"])
        assert store.contents(name) == [b"c", b"d"]
