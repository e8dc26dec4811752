"""S05: a cursor of a deleted, flushed, restored or replaced topic must not be taken for one of this life."""

import pytest

from tailrace.records import CLOSED
from tailrace.testing.drivers import Topic
from tailrace.testing.peers import Peer
from tailrace.testing.reading import (
    Background,
    drain,
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


def test_s05_a_shorter_life_after_a_longer_one(topic: Topic, peer: Peer) -> None:
    cursors = fill(topic, 10)
    peer.delete(topic.name)
    peer.append(topic.name, *numbered(2))
    for cursor in cursors:
        refused(topic, cursor)


def test_s05_a_longer_life_after_a_shorter_one(topic: Topic, peer: Peer) -> None:
    cursors = fill(topic, 2)
    peer.delete(topic.name)
    peer.append(topic.name, *numbered(10))
    for cursor in cursors:
        refused(topic, cursor)


def test_s05_no_life_at_all(topic: Topic, peer: Peer) -> None:
    cursors = fill(topic, 2)
    peer.delete(topic.name)
    for cursor in cursors:
        refused(topic, cursor)


@pytest.mark.parametrize("after", [0, 1, 3, 20])
def test_s05_a_live_reader_that_waits_while_its_topic_is_replaced(topic: Topic, peer: Peer, after: int) -> None:
    fill(topic, 3)
    with topic.subscribe_from_beginning() as subscription:
        take(subscription, 3)
        waiting = Background(lambda: read_until_lost(subscription))
        peer.delete(topic.name)
        if after:
            peer.append(topic.name, *numbered(after))
        assert waiting.result() == []


def test_s05_a_live_reader_that_is_behind_while_its_topic_is_replaced(topic: Topic, peer: Peer) -> None:
    for start in range(0, 6000, 3000):
        topic.append_many(numbered(3000, start))
    with topic.subscribe_from_beginning() as subscription:
        take(subscription, 10)
        peer.delete(topic.name)
        peer.append(topic.name, *(b"other" for _ in range(20)))
        found = read_until_lost(subscription)
    assert found == numbered(len(found), 10)


def test_s05_a_life_that_ends_sealed_is_another_one_all_the_same(topic: Topic, peer: Peer) -> None:
    (cursor,) = fill(topic, 1)
    topic.seal()
    peer.delete(topic.name)
    peer.append(topic.name, b"new")
    refused(topic, cursor)
    with topic.subscribe_from_beginning() as subscription:
        assert payloads(take(subscription, 1)) == [b"new"]
        nothing(subscription)


def test_s05_many_lives_in_a_row(topic: Topic, store: StoreUnderTest) -> None:
    old = []
    for life in range(20):
        topic.append(b"%d" % life)
        for cursor in old:
            refused(topic, cursor)
        old.append(topic.checkpoint())
        store.delete(topic.name)


def test_s05_a_flushed_store(topic: Topic, store: StoreUnderTest) -> None:
    empty = store.backup()
    cursors = fill(topic, 5)
    with topic.subscribe_from_beginning() as subscription:
        take(subscription, 5)
        store.restore(empty)
        for cursor in cursors:
            refused(topic, cursor)
        store.grow(topic.name, numbered(5))
        for cursor in cursors:
            refused(topic, cursor)
        assert read_until_lost(subscription) == []
    assert read_all(topic.subscribe_from_beginning(), 5) == numbered(5)


@pytest.mark.parametrize("others", [0, 1, 29, 30, 31, 40])
def test_s05_a_backup_of_50_is_restored_and_others_are_appended(
    topic: Topic, peer: Peer, store: StoreUnderTest, others: int
) -> None:
    early = fill(topic, 50)
    backup = store.backup()
    late = fill(topic, 30, 50)
    store.restore(backup)
    other = [b"other %d" % number for number in range(others)]
    peer.append(topic.name, *other)
    for cursor in late:
        refused(topic, cursor)
    assert read_all(topic.subscribe_from_cursor(early[49]), others) == other
    assert read_all(topic.subscribe_from_cursor(early[20]), 29 + others) == numbered(29, 21) + other


@pytest.mark.parametrize("others", [1, 29, 30, 31, 40])
def test_s05_a_live_reader_while_a_backup_is_restored_and_grows(
    topic: Topic, store: StoreUnderTest, others: int
) -> None:
    fill(topic, 50)
    backup = store.backup()
    fill(topic, 30, 50)
    with topic.subscribe_from_beginning() as subscription:
        take(subscription, 80)
        waiting = Background(lambda: read_until_lost(subscription))
        store.regrow(backup, topic.name, [b"other %d" % number for number in range(others)])
        assert waiting.result() == []


def test_s05_a_restore_from_before_the_topic_existed(topic: Topic, store: StoreUnderTest) -> None:
    empty = store.backup()
    unborn = topic.checkpoint()
    (cursor,) = fill(topic, 1)
    store.restore(empty)
    refused(topic, cursor)
    topic.append(b"other")
    refused(topic, cursor)
    assert read_all(topic.subscribe_from_cursor(unborn), 1) == [b"other"]


def test_s05_a_restore_takes_a_seal_back_and_the_readers_of_the_sealed_life_stay_ended(
    topic: Topic, store: StoreUnderTest
) -> None:
    fill(topic, 2)
    backup = store.backup()
    topic.seal()
    with topic.subscribe_from_beginning() as subscription:
        assert drain(subscription) == numbered(2)
        store.regrow(backup, topic.name, [b"2"])
        assert subscription.receive(timeout=0.05) is CLOSED
    assert read_all(topic.subscribe_from_beginning(), 3) == numbered(3)
