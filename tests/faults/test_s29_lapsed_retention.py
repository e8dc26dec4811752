"""S29: a topic is not its records: silence for longer than they are kept, or a long life, ends nothing."""

import time

import pytest

from tailrace import spi
from tailrace.records import CLOSED
from tailrace.retention import Retention
from tailrace.testing.drivers import Topic
from tailrace.testing.fixtures import Connect
from tailrace.testing.peers import Peer
from tailrace.testing.reading import fill, nothing, numbered, payloads, read_all, refused, take
from tailrace.testing.stores import StoreUnderTest

KEPT_FOR = 0.1
GRACE = 0.1
FORGOTTEN_AFTER = 1.5
"""Seconds: longer than a busy machine stops between two appends."""
SOON = 3.0


def test_a_producer_that_was_silent_for_twice_the_retention_goes_on_with_the_same_topic(
    connect: Connect, name: str, store: StoreUnderTest
) -> None:
    client = connect(retention=Retention(max_age=KEPT_FOR), append_timeout=GRACE)
    topic = connect(retention=Retention(max_age=KEPT_FOR), append_timeout=5.0).topic(name)
    with topic.subscribe_from_tail() as live:
        topic.append_many(numbered(3))
        cursors = [record.cursor for record in take(live, 3)]
        time.sleep(2 * (KEPT_FOR + GRACE))
        client.maintenance.sweep(spi.SweepBudget())
        assert store.contents(name) == []
        nothing(live)
        topic.append(b"3")
        assert payloads(take(live, 1)) == [b"3"]
    # The same history: whoever had read everything goes on, whoever had not is told.
    assert read_all(connect().topic(name).subscribe_from_cursor(cursors[2]), 1) == [b"3"]
    refused(topic, cursors[1])


def test_a_topic_that_is_always_active_is_not_ended_by_its_age(connect: Connect, name: str) -> None:
    kept = Retention(max_age=FORGOTTEN_AFTER)
    client = connect(retention=kept, append_timeout=GRACE, forget_after=FORGOTTEN_AFTER)
    # What decides is how long the one who sweeps grants to others; the one who appends has longer, if it must.
    topic = connect(retention=kept, append_timeout=5.0, forget_after=FORGOTTEN_AFTER).topic(name)
    with topic.subscribe_from_tail() as live:
        started, number = time.monotonic(), 0
        while time.monotonic() - started < 2 * (FORGOTTEN_AFTER + GRACE):
            topic.append(b"%d" % number)
            client.maintenance.sweep(spi.SweepBudget())
            assert payloads(take(live, 1)) == [b"%d" % number]
            number += 1


@pytest.mark.parametrize("read", [0, 4, 5])
def test_an_end_between_catching_up_and_following_is_seen_soon(topic: Topic, peer: Peer, read: int) -> None:
    fill(topic, 5)
    with topic.subscribe_from_beginning() as subscription:
        take(subscription, read)
        peer.seal(topic.name)
        take(subscription, 5 - read)
        sealed = time.monotonic()
        while subscription.receive(timeout=0.1) is not CLOSED:
            assert time.monotonic() - sealed < SOON
