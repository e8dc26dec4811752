"""Resume: nothing that was not returned is skipped, and nothing that was is returned again."""

from tailrace.records import CLOSED, TopicCursor
from tailrace.testing.drivers import Client, Topic
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import fill, nothing, numbered, payloads, read_all, take
from tailrace.testing.stores import StoreUnderTest


class TestResume:
    def test_resuming_after_each_record_gives_exactly_the_rest(self, topic: Topic) -> None:
        cursors = fill(topic, 30)
        for index, cursor in enumerate(cursors):
            assert read_all_of(topic, cursor, 29 - index) == numbered(29 - index, index + 1)

    def test_payloads_of_all_sizes_resume_byte_for_byte(self, topic: Topic, store: StoreUnderTest) -> None:
        largest = min(2_000_000, store.tool.capabilities.max_payload)
        sizes = [10, 0, 70_000, 1, largest, 300, largest // 2, 5]
        live = [bytes([index]) * size for index, size in enumerate(sizes)]
        topic.append_many(live)
        with topic.subscribe_from_beginning() as subscription:
            records = take(subscription, len(live))
        for index, record in enumerate(records):
            assert live[: index + 1] + read_all_of(topic, record.cursor, len(live) - index - 1) == live

    def test_what_was_buffered_but_not_returned_comes_again(self, topic: Topic) -> None:
        topic.append_many(numbered(100))
        with topic.subscribe_from_beginning() as subscription:
            last = take(subscription, 10)[-1]
        assert read_all_of(topic, last.cursor, 90) == numbered(90, 10)

    def test_resuming_works_on_a_client_that_was_opened_later(self, connect: Connect, name: str) -> None:
        client = connect()
        cursors = fill(client.topic(name), 5)
        client.close()
        assert read_all_of(connect().topic(name), cursors[1], 3) == numbered(3, 2)

    def test_reading_one_record_per_subscription_reads_them_all(self, topic: Topic) -> None:
        topic.append_many(numbered(20))
        cursor, found = topic.subscribe_from_beginning().cursor, []
        for _ in range(20):
            with topic.subscribe_from_cursor(cursor) as subscription:
                (record,) = take(subscription, 1)
            cursor = record.cursor
            found.append(record.payload)
        assert found == numbered(20)

    def test_the_resume_boundary_before_the_first_record_is_the_start(self, topic: Topic) -> None:
        topic.append_many(numbered(3))
        begin, tail = topic.subscribe_from_beginning(), topic.subscribe_from_tail()
        topic.append(b"3")
        assert read_all_of(topic, begin.cursor, 4) == numbered(4)
        assert read_all_of(topic, tail.cursor, 1) == [b"3"]

    def test_a_subscription_from_a_cursor_stands_at_that_cursor(self, topic: Topic) -> None:
        cursors = fill(topic, 3)
        assert topic.subscribe_from_cursor(cursors[1]).cursor == cursors[1]

    def test_the_resume_boundary_follows_what_was_returned(self, topic: Topic) -> None:
        topic.append_many(numbered(10))
        with topic.subscribe_from_beginning() as subscription:
            for _ in range(10):
                (record,) = take(subscription, 1)
                assert subscription.cursor == record.cursor

    def test_a_timeout_does_not_move_the_resume_boundary(self, topic: Topic) -> None:
        topic.append(b"a")
        with topic.subscribe_from_tail() as subscription:
            before = subscription.cursor
            nothing(subscription)
            assert read_all_of(topic, subscription.cursor, 0) == []
            assert subscription.cursor == before

    def test_a_subscription_that_saw_nothing_resumes_where_it_began(self, topic: Topic) -> None:
        topic.append(b"old")
        cursor = topic.checkpoint()
        for _ in range(3):
            with topic.subscribe_from_cursor(cursor) as subscription:
                nothing(subscription)
            cursor = subscription.cursor
        topic.append(b"new")
        assert read_all_of(topic, cursor, 1) == [b"new"]

    def test_the_resume_boundary_outlives_the_subscription(self, topic: Topic) -> None:
        topic.append_many(numbered(5))
        with topic.subscribe_from_beginning() as subscription:
            take(subscription, 2)
        assert subscription.receive(timeout=0) is CLOSED
        assert read_all_of(topic, subscription.cursor, 3) == numbered(3, 2)

    def test_a_boundary_taken_before_the_topic_existed_resumes_from_its_first_record(
        self, topic: Topic, peer_topic: Topic
    ) -> None:
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
        peer_topic.append(b"first")
        assert read_all_of(topic, subscription.cursor, 1) == [b"first"]

    def test_a_reader_that_comes_and_goes_while_others_append_misses_nothing(
        self, topic: Topic, elsewhere: Client
    ) -> None:
        writer = elsewhere.topic(topic.name)
        cursor, found = topic.checkpoint(), []
        for number in range(20):
            subscription = topic.subscribe_from_cursor(cursor)
            writer.append_many(numbered(3, number * 3))
            with subscription:
                found += payloads(take(subscription, 1 + number % 3))
            cursor = subscription.cursor
        found += read_all_of(topic, cursor, 60 - len(found))
        assert found == numbered(60)


def read_all_of(topic: Topic, cursor: TopicCursor, count: int) -> list[bytes]:
    """Resume, and read exactly what is there."""
    return read_all(topic.subscribe_from_cursor(cursor), count)
