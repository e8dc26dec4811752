"""S04: a trim that is not noticed skips records; one that is noticed too eagerly cries wolf."""

import pytest

from tailrace.errors import CursorUnavailableError
from tailrace.records import CLOSED
from tailrace.retention import Retention
from tailrace.testing.drivers import Topic
from tailrace.testing.fixtures import Connect
from tailrace.testing.peers import Peer
from tailrace.testing.reading import fill, nothing, numbered, payloads, read_all, read_until_lost, refused, take
from tailrace.testing.stores import StoreUnderTest


def test_s04a_a_cursor_below_the_cut_is_lost(topic: Topic, peer: Peer) -> None:
    cursors = fill(topic, 10)
    peer.trim(topic.name, keep=3)
    refused(topic, cursors[2])


def test_s04b_a_cursor_at_the_cut_is_not(topic: Topic, peer: Peer) -> None:
    cursors = fill(topic, 10)
    peer.trim(topic.name, keep=3)
    assert read_all(topic.subscribe_from_cursor(cursors[6]), 3) == numbered(3, 7)


def test_s04c_a_topic_trimmed_to_nothing_loses_only_what_was_not_read(topic: Topic, peer: Peer) -> None:
    cursors = fill(topic, 10)
    peer.trim(topic.name, keep=0)
    refused(topic, cursors[2])
    refused(topic, cursors[8])
    with topic.subscribe_from_cursor(cursors[9]) as subscription:
        nothing(subscription)
        peer.append(topic.name, b"10")
        assert payloads(take(subscription, 1)) == [b"10"]


def test_s04d_a_live_reader_that_is_five_behind_is_told(connect: Connect, name: str, peer: Peer) -> None:
    topic = connect(buffer_records=1, page_records=1).topic(name)
    with topic.subscribe_from_tail() as subscription:
        topic.append_many(numbered(10))
        take(subscription, 3)
        peer.trim(name, keep=0)
        found = read_until_lost(subscription)
    # What it had already fetched may still come; a record after a hole may not.
    assert found == numbered(len(found), 3)
    assert len(found) < 7


def test_s04d_a_live_reader_that_has_everything_goes_on(topic: Topic, peer: Peer) -> None:
    with topic.subscribe_from_tail() as subscription:
        peer.append(topic.name, *numbered(5))
        take(subscription, 5)
        peer.trim(topic.name, keep=0)
        nothing(subscription)
        peer.append(topic.name, b"5")
        assert payloads(take(subscription, 1)) == [b"5"]


def test_s04d_a_cut_between_subscribing_and_entering(topic: Topic, peer: Peer) -> None:
    cursors = fill(topic, 10)
    lost, kept = topic.subscribe_from_cursor(cursors[2]), topic.subscribe_from_cursor(cursors[6])
    peer.trim(topic.name, keep=3)
    with pytest.raises(CursorUnavailableError):
        lost.__enter__()
    assert lost.receive(timeout=0) is CLOSED
    assert read_all(kept, 3) == numbered(3, 7)


@pytest.mark.parametrize("keep", range(11))
def test_s04e_wherever_a_cut_falls_exactly_the_cursors_below_it_are_lost(
    topic: Topic, store: StoreUnderTest, keep: int
) -> None:
    cursors = [topic.checkpoint(), *fill(topic, 10)]
    store.trim(topic.name, keep=keep)
    for index, cursor in enumerate(cursors):
        if index < 10 - keep:
            refused(topic, cursor)
        else:
            with topic.subscribe_from_cursor(cursor) as subscription:
                assert payloads(take(subscription, 10 - index)) == numbered(10 - index, index)


@pytest.mark.parametrize("retention", [Retention(max_records=3), Retention(max_bytes=3)], ids=["count", "bytes"])
def test_s04e_a_cut_by_the_appends_themselves_is_told(connect: Connect, name: str, retention: Retention) -> None:
    topic = connect(retention=retention).topic(name)
    kinds = connect().capabilities.enforces
    start = topic.checkpoint()
    cursors = []
    for number in range(10):
        cursor = topic.checkpoint()
        topic.append(b"%d" % number)
        with topic.subscribe_from_cursor(cursor) as subscription:
            cursors += [record.cursor for record in take(subscription, 1)]
    if ("records" if retention.max_records else "bytes") in kinds:
        refused(topic, start)
        refused(topic, cursors[5])
    assert read_all(topic.subscribe_from_cursor(cursors[6]), 3) == numbered(3, 7)


def test_s04e_two_cuts_in_a_row_and_a_cut_of_nothing(topic: Topic, peer: Peer) -> None:
    cursors = fill(topic, 10)
    for keep in (8, 8, 3, 5):
        peer.trim(topic.name, keep=keep)
    refused(topic, cursors[5])
    assert read_all(topic.subscribe_from_cursor(cursors[6]), 3) == numbered(3, 7)
