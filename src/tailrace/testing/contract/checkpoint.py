"""checkpoint: a cursor for the current tail, to fix the start now and subscribe later."""

from tailrace.testing.drivers import Client, Topic
from tailrace.testing.reading import drain, fill, numbered, read_all, refused
from tailrace.testing.stores import StoreUnderTest


class TestCheckpoint:
    def test_it_starts_strictly_after_the_tail_of_that_moment(self, topic: Topic, peer_topic: Topic) -> None:
        topic.append_many(numbered(3))
        cursor = peer_topic.checkpoint()
        topic.append_many(numbered(3, 3))
        assert read_all(topic.subscribe_from_cursor(cursor), 3) == numbered(3, 3)

    def test_it_equals_the_cursor_of_the_last_record(self, topic: Topic) -> None:
        assert fill(topic, 3)[-1] == topic.checkpoint()

    def test_a_topic_that_does_not_exist_has_one(self, topic: Topic, peer_topic: Topic) -> None:
        cursor = topic.checkpoint()
        peer_topic.append(b"first")
        assert read_all(topic.subscribe_from_cursor(cursor), 1) == [b"first"]

    def test_it_may_be_entered_before_the_topic_exists(self, topic: Topic, peer_topic: Topic) -> None:
        cursor = topic.checkpoint()
        subscription = topic.subscribe_from_cursor(cursor)
        peer_topic.append(b"first")
        assert read_all(subscription, 1) == [b"first"]

    def test_it_serves_another_client(self, topic: Topic, peer_topic: Topic) -> None:
        cursor = topic.checkpoint()
        topic.append(b"x")
        assert read_all(peer_topic.subscribe_from_cursor(cursor), 1) == [b"x"]

    def test_it_creates_nothing(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.checkpoint()
        assert not store.exists(topic.name)

    def test_one_of_an_emptied_topic_goes_on(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append_many(numbered(3))
        store.trim(topic.name, keep=0)
        cursor = topic.checkpoint()
        topic.append(b"next")
        assert read_all(topic.subscribe_from_cursor(cursor), 1) == [b"next"]

    def test_one_of_a_sealed_topic_gives_the_end(self, topic: Topic) -> None:
        topic.append(b"x")
        topic.seal()
        with topic.subscribe_from_cursor(topic.checkpoint()) as subscription:
            assert drain(subscription) == []

    def test_one_whose_next_record_was_removed_is_refused(self, topic: Topic, store: StoreUnderTest) -> None:
        cursor = topic.checkpoint()
        topic.append_many(numbered(3))
        store.trim(topic.name, keep=2)
        refused(topic, cursor)

    def test_one_of_a_topic_deleted_since_is_refused(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append(b"x")
        cursor = topic.checkpoint()
        store.recreate(topic.name, [b"y"])
        refused(topic, cursor)

    def test_checkpoint_first_and_snapshot_second_miss_no_event(self, topic: Topic, elsewhere: Client) -> None:
        writer, snapshot = elsewhere.topic(topic.name), set[bytes]()
        for number in range(5):
            writer.append(b"%d" % number)
            snapshot.add(b"%d" % number)
        cursor = topic.checkpoint()
        writer.append(b"5")
        snapshot.add(b"5")
        seen = set(snapshot)
        writer.append(b"6")
        assert seen | set(read_all(topic.subscribe_from_cursor(cursor), 2)) == set(numbered(7))

    def test_checkpoints_of_an_idle_topic_lead_to_the_same_place(self, topic: Topic, peer_topic: Topic) -> None:
        topic.append(b"x")
        cursors = {topic.checkpoint(), peer_topic.checkpoint(), topic.subscribe_from_tail().cursor}
        topic.append(b"y")
        for cursor in cursors:
            assert read_all(topic.subscribe_from_cursor(cursor), 1) == [b"y"]
