"""Lineage: a place of another life or another history is told, never taken for one of this."""

import threading

import pytest

from tailrace import spi
from tailrace.errors import CursorUnavailableError
from tailrace.options import StoreOptions
from tailrace.records import CLOSED
from tailrace.testing.drivers import Topic
from tailrace.testing.fixtures import Connect
from tailrace.testing.outcome import not_run
from tailrace.testing.reading import (
    Background,
    fill,
    nothing,
    numbered,
    payloads,
    read_all,
    read_until_lost,
    refused,
    take,
)
from tailrace.testing.stores import StoreUnderTest


class TestLineage:
    def test_a_cursor_of_a_deleted_topic_is_refused(self, topic: Topic, store: StoreUnderTest) -> None:
        cursors = fill(topic, 10)
        store.delete(topic.name)
        for cursor in cursors:
            refused(topic, cursor)

    def test_a_cursor_of_another_life_is_refused(self, topic: Topic, store: StoreUnderTest) -> None:
        cursors = fill(topic, 10)
        store.recreate(topic.name, numbered(2))
        for cursor in cursors:
            refused(topic, cursor)
        store.grow(topic.name, numbered(20))
        for cursor in cursors:
            refused(topic, cursor)

    def test_a_cursor_of_a_life_that_ended_in_the_same_moment_is_refused(
        self, topic: Topic, store: StoreUnderTest
    ) -> None:
        for _ in range(100):
            topic.append(b"same")
            cursor = topic.checkpoint()
            store.recreate(topic.name, [b"same"])
            refused(topic, cursor)

    def test_a_cursor_taken_through_another_client_is_refused_too(
        self, topic: Topic, peer_topic: Topic, store: StoreUnderTest
    ) -> None:
        # Both clients have read the old life: whatever they remember of it must not answer for the new one.
        cursors = fill(topic, 3)
        read_all(peer_topic.subscribe_from_beginning(), 3)
        store.recreate(topic.name, numbered(3))
        for one in (topic, peer_topic):
            refused(one, cursors[1])
            assert read_all(one.subscribe_from_beginning(), 3) == numbered(3)

    @pytest.mark.parametrize("start", ["beginning", "cursor", "tail"])
    def test_a_delete_between_subscribing_and_entering_is_told(
        self, topic: Topic, store: StoreUnderTest, start: str
    ) -> None:
        cursors = fill(topic, 3)
        arguments = (cursors[1],) if start == "cursor" else ()
        subscription = getattr(topic, f"subscribe_from_{start}")(*arguments)
        store.recreate(topic.name, numbered(5))
        with pytest.raises(CursorUnavailableError):
            subscription.__enter__()
        assert subscription.receive(timeout=0) is CLOSED

    @pytest.mark.parametrize("start", ["beginning", "tail"])
    def test_a_whole_life_between_subscribing_and_entering_is_told(
        self, topic: Topic, store: StoreUnderTest, start: str
    ) -> None:
        subscription = getattr(topic, f"subscribe_from_{start}")()
        store.grow(topic.name, numbered(1))
        store.recreate(topic.name, numbered(1))
        with pytest.raises(CursorUnavailableError):
            subscription.__enter__()

    def test_a_whole_life_after_a_checkpoint_of_nothing_is_told(self, topic: Topic, store: StoreUnderTest) -> None:
        cursor = topic.checkpoint()
        store.grow(topic.name, numbered(1))
        assert read_all(topic.subscribe_from_cursor(cursor), 1) == numbered(1)
        store.delete(topic.name)
        refused(topic, cursor)
        store.grow(topic.name, numbered(1))
        refused(topic, cursor)

    def test_a_life_that_ended_before_is_no_loss(self, topic: Topic, peer_topic: Topic, store: StoreUnderTest) -> None:
        store.grow(topic.name, numbered(3))
        store.delete(topic.name)
        cursor, subscription = topic.checkpoint(), topic.subscribe_from_tail()
        peer_topic.append(b"second life")
        assert read_all(subscription, 1) == [b"second life"]
        assert read_all(topic.subscribe_from_cursor(cursor), 1) == [b"second life"]

    @pytest.mark.parametrize("again", [True, False], ids=["recreated", "gone"])
    def test_a_live_reader_is_told_when_its_topic_is_deleted(
        self, topic: Topic, store: StoreUnderTest, again: bool
    ) -> None:
        topic.append(b"x")
        with topic.subscribe_from_beginning() as subscription:
            take(subscription, 1)
            waiting = Background(lambda: read_until_lost(subscription))
            store.delete(topic.name)
            if again:
                store.grow(topic.name, numbered(3))
            assert waiting.result() == []

    def test_a_live_reader_that_waits_for_a_topic_to_exist_never_gets_its_second_life(
        self, topic: Topic, store: StoreUnderTest
    ) -> None:
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            store.grow(topic.name, [b"first life"])
            store.recreate(topic.name, [b"second life"])
            assert read_until_lost(subscription) in ([], [b"first life"])

    def test_readers_of_two_lives_do_not_mix(self, topic: Topic, peer_topic: Topic, store: StoreUnderTest) -> None:
        topic.append(b"old")
        with topic.subscribe_from_beginning() as old:
            take(old, 1)
            store.delete(topic.name)
            with topic.subscribe_from_tail() as new:
                peer_topic.append(b"new")
                assert payloads(take(new, 1)) == [b"new"]
                assert read_until_lost(old) == []
                peer_topic.append(b"newer")
                assert payloads(take(new, 1)) == [b"newer"]

    def test_a_deleted_topic_is_gone(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append(b"x")
        assert store.operations.delete(topic.name) is True
        assert store.operations.delete(topic.name) is False
        assert not store.exists(topic.name)
        assert store.operations.topics(prefix=topic.name) == []
        assert read_all(topic.subscribe_from_beginning(), 0) == []

    def test_the_client_offers_the_operations(self, connect: Connect, name: str, store: StoreUnderTest) -> None:
        client = connect()
        client.topic(name).append_many(numbered(3))
        (info,) = client.maintenance.topics(prefix=name)
        assert (info.name, info.records, info.bytes, info.seal) == (name, 3, 3, None)
        assert client.maintenance.delete(name) is True
        assert not store.exists(name)

    def test_a_place_before_a_topic_existed_is_kept_as_long_as_tombstones(self, connect: Connect, name: str) -> None:
        topic = connect(tombstone_for=0.2).topic(name)
        cursor = topic.checkpoint()
        subscription = topic.subscribe_from_tail()
        threading.Event().wait(0.4)
        refused(topic, cursor)
        with pytest.raises(CursorUnavailableError):
            subscription.__enter__()

    def test_a_topic_that_was_forgotten_is_another_one(
        self, connect: Connect, name: str, store: StoreUnderTest
    ) -> None:
        if not store.disposable:
            not_run("a sweep would touch other topics of this store")
        # The grace that a sweep leaves is short, and the time that an append has is not.
        client = connect(store.open(StoreOptions(forget_after=0.05, append_timeout=0.1)))
        topic = client.topic(name)
        (cursor,) = fill(topic, 1)
        store.trim(name, keep=0)
        threading.Event().wait(0.2)
        assert client.maintenance.sweep(spi.SweepBudget()).forgotten >= 1
        assert not store.exists(name)
        refused(topic, cursor)
        topic.append(b"another")
        refused(topic, cursor)

    def test_a_cursor_beyond_a_restored_tail_is_refused(self, topic: Topic, store: StoreUnderTest) -> None:
        cursors = fill(topic, 10)
        backup = store.backup()
        later = fill(topic, 10, 10)
        store.restore(backup)
        for cursor in later:
            refused(topic, cursor)
        assert read_all(topic.subscribe_from_cursor(cursors[4]), 5) == numbered(5, 5)

    def test_a_cursor_of_another_history_is_refused(self, topic: Topic, store: StoreUnderTest) -> None:
        cursors = fill(topic, 10)
        backup = store.backup()
        later = fill(topic, 10, 10)
        store.regrow(backup, topic.name, [b"other %d" % number for number in range(15)])
        for cursor in later:
            refused(topic, cursor)
        refused(topic, later[-1])
        rest = numbered(5, 5) + [b"other %d" % number for number in range(15)]
        assert read_all(topic.subscribe_from_cursor(cursors[4]), 20) == rest

    def test_the_same_bytes_again_are_another_history(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append(b"a")
        backup = store.backup()
        topic.append(b"b")
        cursor = topic.checkpoint()
        store.regrow(backup, topic.name, [b"b", b"c"])
        refused(topic, cursor)

    @pytest.mark.parametrize("regrown", [0, 3, 10, 30], ids=["shorter", "still-shorter", "as-long", "longer"])
    def test_a_live_reader_is_told_when_history_is_replaced(
        self, topic: Topic, store: StoreUnderTest, regrown: int
    ) -> None:
        topic.append_many(numbered(5))
        backup = store.backup()
        with topic.subscribe_from_beginning() as subscription:
            topic.append_many(numbered(10, 5))
            take(subscription, 15)
            waiting = Background(lambda: read_until_lost(subscription))
            store.regrow(backup, topic.name, [b"other %d" % number for number in range(regrown)])
            if not regrown:
                # A restore by itself moves nothing that a store could hint at; the next append does.
                store.grow(topic.name, [b"other"])
            assert waiting.result() == []

    def test_a_boundary_fixed_before_a_restore_is_told_on_entering(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append(b"a")
        backup = store.backup()
        topic.append(b"b")
        subscription = topic.subscribe_from_tail()
        store.regrow(backup, topic.name, [b"other"])
        with pytest.raises(CursorUnavailableError):
            subscription.__enter__()
