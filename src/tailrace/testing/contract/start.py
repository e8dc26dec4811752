"""Start positions: each is fixed before the method returns, and never changes."""

import pytest

from tailrace.errors import CursorUnavailableError
from tailrace.protocols import DurableStreamSubscription
from tailrace.records import CLOSED
from tailrace.testing.drivers import Topic
from tailrace.testing.reading import fill, nothing, numbered, payloads, read_all, take
from tailrace.testing.stores import StoreUnderTest


class TestStartPositions:
    def test_the_beginning_is_the_earliest_retained_record_inclusive(self, topic: Topic) -> None:
        topic.append_many(numbered(3))
        assert read_all(topic.subscribe_from_beginning(), 3) == numbered(3)

    def test_the_beginning_of_a_trimmed_topic_is_what_is_left(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append_many(numbered(10))
        store.trim(topic.name, keep=4)
        assert read_all(topic.subscribe_from_beginning(), 4) == numbered(4, 6)

    def test_the_beginning_is_fixed_before_the_call_returns(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append_many(numbered(10))
        subscription = topic.subscribe_from_beginning()
        store.trim(topic.name, keep=4)
        with pytest.raises(CursorUnavailableError):
            subscription.__enter__()
        assert subscription.receive(timeout=0) is CLOSED

    def test_a_cursor_starts_strictly_after_its_record(self, topic: Topic) -> None:
        cursors = fill(topic, 5)
        assert read_all(topic.subscribe_from_cursor(cursors[2]), 2) == numbered(2, 3)

    def test_the_cursor_of_the_last_record_starts_with_what_comes_next(self, topic: Topic) -> None:
        cursors = fill(topic, 5)
        with topic.subscribe_from_cursor(cursors[4]) as subscription:
            nothing(subscription)
            topic.append(b"next")
            assert payloads(take(subscription, 1)) == [b"next"]

    def test_a_tail_subscription_gets_exactly_what_is_appended_after_the_call(
        self, topic: Topic, peer_topic: Topic
    ) -> None:
        topic.append(b"before")
        subscription = topic.subscribe_from_tail()
        topic.append(b"here")
        peer_topic.append(b"there")
        assert read_all(subscription, 2) == [b"here", b"there"]

    def test_neither_entering_nor_receiving_moves_the_tail(self, topic: Topic, peer_topic: Topic) -> None:
        subscription = topic.subscribe_from_tail()
        peer_topic.append(b"a")
        with subscription:
            peer_topic.append(b"b")
            assert payloads(take(subscription, 2)) == [b"a", b"b"]
            peer_topic.append(b"c")
            assert payloads(take(subscription, 1)) == [b"c"]

    def test_a_tail_subscription_to_an_idle_topic_gets_nothing_old(self, topic: Topic) -> None:
        topic.append_many(numbered(10))
        assert read_all(topic.subscribe_from_tail(), 0) == []

    @pytest.mark.parametrize("start", ["subscribe_from_beginning", "subscribe_from_tail"])
    def test_a_topic_that_does_not_exist_starts_with_its_first_record(
        self, topic: Topic, peer_topic: Topic, start: str
    ) -> None:
        subscription = getattr(topic, start)()
        peer_topic.append(b"first")
        peer_topic.append(b"second")
        assert read_all(subscription, 2) == [b"first", b"second"]

    @pytest.mark.parametrize("start", ["subscribe_from_beginning", "subscribe_from_tail"])
    def test_a_topic_may_come_into_being_while_it_is_waited_for(
        self, topic: Topic, peer_topic: Topic, start: str
    ) -> None:
        with getattr(topic, start)() as subscription:
            nothing(subscription)
            peer_topic.append(b"first")
            assert payloads(take(subscription, 1)) == [b"first"]

    @pytest.mark.parametrize("start", ["subscribe_from_beginning", "subscribe_from_tail"])
    def test_an_emptied_topic_starts_with_what_comes_next(
        self, topic: Topic, store: StoreUnderTest, start: str
    ) -> None:
        topic.append_many(numbered(3))
        store.trim(topic.name, keep=0)
        subscription = getattr(topic, start)()
        topic.append(b"next")
        assert read_all(subscription, 1) == [b"next"]

    def test_trimming_does_not_move_the_tail(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append_many(numbered(3))
        subscription = topic.subscribe_from_tail()
        store.trim(topic.name, keep=0)
        topic.append(b"next")
        assert read_all(subscription, 1) == [b"next"]

    def test_subscribing_reading_and_closing_create_no_topic(self, topic: Topic, store: StoreUnderTest) -> None:
        for subscription in (topic.subscribe_from_beginning(), topic.subscribe_from_tail()):
            with subscription:
                nothing(subscription)
        topic.checkpoint()
        assert not store.exists(topic.name)
        assert store.operations.topics(prefix=topic.name) == []

    def test_subscribing_reading_and_closing_write_nothing(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append_many(numbered(3))
        before = store.tool.bounds(topic.name), store.operations.topics(prefix=topic.name)
        assert read_all(topic.subscribe_from_beginning(), 3) == numbered(3)
        assert read_all(topic.subscribe_from_tail(), 0) == []
        assert (store.tool.bounds(topic.name), store.operations.topics(prefix=topic.name)) == before

    def test_every_start_is_a_durable_stream_subscription(self, topic: Topic) -> None:
        (cursor,) = fill(topic, 1)
        assert isinstance(topic.subscribe_from_beginning(), DurableStreamSubscription)
        assert isinstance(topic.subscribe_from_tail(), DurableStreamSubscription)
        assert isinstance(topic.subscribe_from_cursor(cursor), DurableStreamSubscription)
