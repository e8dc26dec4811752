"""Order and independence: one order for everybody, nobody competes, topics do not mix."""

import pytest

from tailrace.testing.drivers import Client, Topic
from tailrace.testing.reading import Background, fill, numbered, payloads, read_all, take
from tailrace.testing.stores import StoreUnderTest

PAIRS = {
    "case": ("Run", "run"),
    "composed-and-decomposed": ("\u00e9", "e\u0301"),
    "trailing-space": ("a", "a "),
    "leading-space": ("a", " a"),
    "accent": ("e", "\u00e9"),
    "sharp-s": ("\u00df", "ss"),
    "turkish-i": ("i", "\u0130"),
    "zero-width": ("a", "a\u200b"),
    "full-width": ("a", "\uff41"),
    "prefix": ("a", "ab"),
    "wildcard": ("a%", "ab"),
    "underscore": ("a_", "ab"),
    "star": ("a*", "ab"),
    "newline": ("a", "a\n"),
    "number": ("1", "01"),
    "percent-encoded": ("a b", "a%20b"),
    "hash-tag": ("{a}", "a"),
}


class TestOrderAndIndependence:
    def test_every_reader_sees_one_and_the_same_order(self, topic: Topic, peer_topic: Topic) -> None:
        subscriptions = [made.subscribe_from_tail() for made in (topic, topic, peer_topic, peer_topic)]
        readers = [Background(lambda one=one: read_all(one, 200)) for one in subscriptions]  # type: ignore[misc]
        writers = [
            Background(lambda target=target, start=start: _append_each(target, start, 50))  # type: ignore[misc]
            for start, target in zip(range(0, 200, 50), [topic, peer_topic] * 2, strict=True)
        ]
        for writer in writers:
            writer.result()
        orders = [reader.result() for reader in readers]
        assert sorted(orders[0]) == sorted(numbered(200))
        assert orders == [orders[0]] * 4
        assert read_all(topic.subscribe_from_beginning(), 200) == orders[0]

    def test_readers_never_compete(self, topic: Topic) -> None:
        subscriptions = [topic.subscribe_from_tail() for _ in range(5)]
        topic.append_many(numbered(20))
        for subscription in subscriptions:
            assert read_all(subscription, 20) == numbered(20)

    def test_readers_stand_where_they_like(self, topic: Topic) -> None:
        cursors = fill(topic, 10)
        with (
            topic.subscribe_from_beginning() as first,
            topic.subscribe_from_cursor(cursors[6]) as second,
            topic.subscribe_from_tail() as third,
        ):
            topic.append(b"10")
            assert payloads(take(third, 1)) == [b"10"]
            assert payloads(take(second, 4)) == numbered(4, 7)
            assert payloads(take(first, 11)) == numbered(11)

    def test_a_reader_that_stands_still_holds_nobody_up(self, topic: Topic) -> None:
        with topic.subscribe_from_beginning() as still, topic.subscribe_from_beginning() as moving:
            for number in range(20):
                topic.append(b"%d" % number)
                assert payloads(take(moving, 1)) == [b"%d" % number]
            assert payloads(take(still, 20)) == numbered(20)

    def test_topics_do_not_mix(self, streams: Client, store: StoreUnderTest) -> None:
        topics = [streams.topic(store.fresh_name()) for _ in range(10)]
        subscriptions = [topic.subscribe_from_tail() for topic in topics]
        for number in range(5):
            for index, topic in enumerate(topics):
                topic.append(b"%d.%d" % (index, number))
        for index, subscription in enumerate(subscriptions):
            assert read_all(subscription, 5) == [b"%d.%d" % (index, number) for number in range(5)]

    @pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
    def test_names_are_compared_byte_for_byte(
        self, streams: Client, store: StoreUnderTest, pair: tuple[str, str]
    ) -> None:
        base = store.fresh_name("-")
        first, second = (streams.topic(base + suffix) for suffix in pair)
        first.append(b"first")
        assert read_all(second.subscribe_from_beginning(), 0) == []
        second.append(b"second")
        assert read_all(first.subscribe_from_beginning(), 1) == [b"first"]
        assert read_all(second.subscribe_from_beginning(), 1) == [b"second"]

    def test_sealing_or_deleting_a_topic_leaves_its_neighbours_alone(
        self, streams: Client, store: StoreUnderTest
    ) -> None:
        base = store.fresh_name()
        topic, longer = streams.topic(base), streams.topic(base + "0")
        with longer.subscribe_from_tail() as subscription:
            topic.append(b"x")
            topic.seal()
            store.trim(base, keep=0)
            store.delete(base)
            longer.append(b"y")
            assert payloads(take(subscription, 1)) == [b"y"]


def _append_each(topic: Topic, start: int, count: int) -> None:
    for payload in numbered(count, start):
        topic.append(payload)
