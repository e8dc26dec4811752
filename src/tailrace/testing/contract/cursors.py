"""Cursors: opaque places of one topic, handed back unchanged, and anything else refused."""

import json
import re
from zlib import crc32

import pytest

from tailrace import limits, spi
from tailrace.cursors import CursorCodec
from tailrace.errors import CursorUnavailableError
from tailrace.records import TopicCursor
from tailrace.testing.drivers import Client, Topic
from tailrace.testing.faults import FaultyBackend
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import fill, numbered, read_all, refused
from tailrace.testing.stores import StoreUnderTest

NO_CURSORS: dict[str, object] = {
    "None": None,
    "bytes": b"11" * 31,
    "int": 7,
    "float": 1.5,
    "list": ["11"],
    "object": object(),
    "empty": "",
    "blank": " ",
    "5000-digits": "7" * 5000,
    "zeros": "0" * 64,
    "nul": "\0" * 64,
    "surrogates": "\ud800" * 64,
    "full-width-digits": "\uff11" * 64,
    "a-position": "0-0",
    "the-tail-of-redis": "$",
}


class TestCursors:
    def test_a_cursor_is_short_url_safe_text(self, topic: Topic) -> None:
        for cursor in (*fill(topic, 3), topic.checkpoint(), topic.subscribe_from_beginning().cursor):
            assert len(cursor) <= limits.MAX_CURSOR_CHARS
            assert re.fullmatch(r"[A-Za-z0-9_.~-]+", cursor)

    def test_cursors_of_two_records_differ(self, topic: Topic) -> None:
        assert len(set(fill(topic, 20))) == 20

    def test_one_record_has_the_same_cursor_for_every_reader(self, topic: Topic, peer_topic: Topic) -> None:
        cursors = fill(topic, 3)
        with peer_topic.subscribe_from_beginning() as subscription:
            assert [subscription.receive(timeout=5).cursor for _ in cursors] == cursors  # type: ignore[union-attr]

    def test_a_cursor_serves_another_client(self, topic: Topic, peer_topic: Topic) -> None:
        cursors = fill(topic, 3)
        assert read_all(peer_topic.subscribe_from_cursor(cursors[0]), 2) == numbered(2, 1)

    def test_a_cursor_survives_being_stored_as_text(self, topic: Topic) -> None:
        cursors = fill(topic, 3)
        stored = TopicCursor(json.loads(json.dumps(cursors[0])).encode().decode())
        assert read_all(topic.subscribe_from_cursor(stored), 2) == numbered(2, 1)

    def test_a_cursor_may_be_used_many_times(self, topic: Topic) -> None:
        cursors = fill(topic, 3)
        for _ in range(3):
            assert read_all(topic.subscribe_from_cursor(cursors[0]), 2) == numbered(2, 1)

    def test_a_cursor_of_another_topic_is_refused(self, streams: Client, store: StoreUnderTest) -> None:
        ours, other = streams.topic(store.fresh_name()), streams.topic(store.fresh_name())
        fill(other, 3)
        for cursor in fill(ours, 3):
            refused(other, cursor)
        refused(other, ours.checkpoint())

    def test_a_cursor_of_another_topic_is_refused_also_if_neither_exists(
        self, streams: Client, store: StoreUnderTest
    ) -> None:
        ours, other = streams.topic(store.fresh_name()), streams.topic(store.fresh_name())
        refused(other, ours.checkpoint())

    @pytest.mark.parametrize("cursor", NO_CURSORS.values(), ids=NO_CURSORS)
    def test_what_is_no_cursor_is_refused_without_asking_the_store(
        self, connect: Connect, faulty: FaultyBackend, name: str, cursor: TopicCursor
    ) -> None:
        topic = connect(faulty).topic(name)
        topic.append(b"x")
        before = faulty.calls.copy()
        refused(topic, cursor)
        assert faulty.calls == before

    @pytest.mark.parametrize("damage", [" {}", "{} ", "{}\n", "{}0", "0{}", "{}{}"])
    def test_a_longer_cursor_is_refused(self, topic: Topic, damage: str) -> None:
        (cursor,) = fill(topic, 1)
        refused(topic, TopicCursor(damage.replace("{}", cursor)))

    def test_a_cursor_truncated_at_any_length_is_refused(self, topic: Topic) -> None:
        (cursor,) = fill(topic, 1)
        for length in range(len(cursor)):
            refused(topic, TopicCursor(cursor[:length]))
            refused(topic, TopicCursor(cursor[length + 1 :]))

    def test_a_cursor_with_any_bit_flipped_is_refused(self, topic: Topic) -> None:
        (cursor,) = fill(topic, 1)
        for position, letter in enumerate(cursor):
            for bit in range(7):
                flipped = chr(ord(letter) ^ (1 << bit))
                refused(topic, TopicCursor(cursor[:position] + flipped + cursor[position + 1 :]))

    def test_a_cursor_in_another_spelling_is_refused(self, topic: Topic) -> None:
        (cursor,) = fill(topic, 1)
        for spelling in {cursor.upper(), cursor.swapcase(), cursor[::-1]} - {cursor}:
            refused(topic, TopicCursor(spelling))

    def test_a_cursor_of_a_later_release_is_refused(self, topic: Topic) -> None:
        for cursor in (*fill(topic, 1), topic.checkpoint()):
            head = bytes([bytes.fromhex(cursor)[0] + 0x10]) + bytes.fromhex(cursor)[1:-7]
            refused(topic, TopicCursor((head + crc32(head).to_bytes(4, "big")).hex() + cursor[-6:]))

    @pytest.mark.parametrize(
        ("incarnation", "position", "tag"),
        [(1, 0, 0), (0, 1, 0), (0, 10**6, 0), (0, 0, 1), (0, 0, -1)],
        ids=["other-life", "one-beyond-the-tail", "far-beyond-the-tail", "other-history", "other-history-too"],
    )
    def test_a_place_that_was_never_reached_is_refused(
        self, topic: Topic, store: StoreUnderTest, incarnation: int, position: int, tag: int
    ) -> None:
        topic.append_many(numbered(3))
        bounds = store.tool.bounds(topic.name)
        assert isinstance(bounds, spi.Bounds)
        wrong = spi.Boundary(
            (bounds.tail.incarnation + incarnation) % spi.MAX_POSITION,
            bounds.tail.position + position,
            (bounds.tail.tag + tag) % 2**32,
        )
        refused(topic, CursorCodec(topic.name).encode(wrong))

    def test_a_refusal_does_not_repeat_the_cursor(self, topic: Topic) -> None:
        (cursor,) = fill(topic, 1)
        for wrong in (cursor + "0", cursor[:-1], cursor[1:] + cursor[0]):
            with pytest.raises(CursorUnavailableError) as caught:
                topic.subscribe_from_cursor(TopicCursor(wrong))
            assert wrong[:20] not in str(caught.value)
            assert wrong[:20] not in repr(caught.value.__context__)

    def test_a_refusal_harms_nobody_else(self, topic: Topic) -> None:
        with topic.subscribe_from_beginning() as subscription:
            refused(topic, TopicCursor("nonsense"))
            topic.append(b"x")
            assert subscription.receive(timeout=5).payload == b"x"  # type: ignore[union-attr]
