"""Retention: what was removed is told, what was not is delivered, and a reader at the edge goes on."""

import threading
import time

import pytest

from tailrace import spi
from tailrace.errors import CursorUnavailableError
from tailrace.records import CLOSED
from tailrace.retention import Retention
from tailrace.testing.drivers import Subscription, Topic
from tailrace.testing.fixtures import Connect
from tailrace.testing.outcome import not_run
from tailrace.testing.reading import (
    PATIENCE,
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


class TestRetention:
    def test_a_cursor_whose_next_record_was_removed_is_refused(self, topic: Topic, store: StoreUnderTest) -> None:
        cursors = fill(topic, 10)
        assert store.trim(topic.name, keep=3) == 7
        for cursor in cursors[:6]:
            refused(topic, cursor)

    def test_a_cursor_at_or_after_the_edge_goes_on(self, topic: Topic, store: StoreUnderTest) -> None:
        _needs_exact(store)
        cursors = fill(topic, 10)
        store.trim(topic.name, keep=3)
        for index, cursor in enumerate(cursors[6:], 6):
            assert read_all(topic.subscribe_from_cursor(cursor), 9 - index) == numbered(9 - index, index + 1)

    def test_the_last_cursor_of_an_emptied_topic_goes_on(self, topic: Topic, store: StoreUnderTest) -> None:
        _needs_exact(store)
        cursors = fill(topic, 10)
        store.trim(topic.name, keep=0)
        subscription = topic.subscribe_from_cursor(cursors[9])
        refused(topic, cursors[8])
        topic.append(b"next")
        assert read_all(subscription, 1) == [b"next"]

    def test_a_cursor_removed_before_entering_is_told_on_entering(self, topic: Topic, store: StoreUnderTest) -> None:
        cursors = fill(topic, 10)
        subscription = topic.subscribe_from_cursor(cursors[2])
        store.trim(topic.name, keep=3)
        with pytest.raises(CursorUnavailableError):
            subscription.__enter__()
        assert subscription.receive(timeout=0) is CLOSED

    def test_a_cursor_at_the_edge_before_entering_goes_on(self, topic: Topic, store: StoreUnderTest) -> None:
        _needs_exact(store)
        cursors = fill(topic, 10)
        subscription = topic.subscribe_from_cursor(cursors[6])
        store.trim(topic.name, keep=3)
        assert read_all(subscription, 3) == numbered(3, 7)

    def test_a_tail_whose_next_record_was_removed_before_entering_is_told(
        self, topic: Topic, store: StoreUnderTest
    ) -> None:
        subscription = topic.subscribe_from_tail()
        topic.append_many(numbered(2))
        store.trim(topic.name, keep=0)
        with pytest.raises(CursorUnavailableError):
            subscription.__enter__()

    def test_a_live_reader_that_fell_behind_is_told_and_gets_nothing_out_of_order(
        self, connect: Connect, name: str, store: StoreUnderTest
    ) -> None:
        topic = connect(buffer_records=4, page_records=4).topic(name)
        with topic.subscribe_from_tail() as subscription:
            topic.append_many(numbered(100))
            assert payloads(take(subscription, 1)) == [b"0"]
            store.trim(name, keep=5)
            found = read_until_lost(subscription)
        assert found == numbered(len(found), 1)
        assert len(found) < 94

    def test_a_reader_that_was_told_says_so_in_its_end(
        self, connect: Connect, name: str, store: StoreUnderTest
    ) -> None:
        topic = connect(buffer_records=4, page_records=4).topic(name)
        with topic.subscribe_from_tail() as subscription:
            topic.append_many(numbered(100))
            store.trim(name, keep=0)
            read_until_lost(subscription)
        assert subscription.end is not None
        assert subscription.end.kind == "failed"
        assert isinstance(subscription.end.exception, CursorUnavailableError)
        assert subscription.end.error == str(subscription.end.exception)

    def test_a_live_reader_that_has_everything_does_not_notice_a_trim(
        self, topic: Topic, peer_topic: Topic, store: StoreUnderTest
    ) -> None:
        _needs_exact(store)
        with topic.subscribe_from_tail() as subscription:
            for number in range(10):
                peer_topic.append(b"%d" % number)
                assert payloads(take(subscription, 1)) == [b"%d" % number]
                store.trim(topic.name, keep=0)
            nothing(subscription)

    def test_after_a_loss_the_beginning_is_still_there(self, topic: Topic, store: StoreUnderTest) -> None:
        cursors = fill(topic, 10)
        store.trim(topic.name, keep=3)
        refused(topic, cursors[0])
        assert read_all(topic.subscribe_from_beginning(), 3) == numbered(3, 7)

    def test_an_emptied_topic_is_still_the_same_topic(self, topic: Topic, store: StoreUnderTest) -> None:
        _needs_exact(store)
        topic.append(b"a")
        cursor = topic.checkpoint()
        for _ in range(3):
            store.trim(topic.name, keep=0)
            assert store.exists(topic.name)
        topic.append(b"b")
        assert read_all(topic.subscribe_from_cursor(cursor), 1) == [b"b"]

    def test_trimming_what_is_not_there_removes_nothing(self, topic: Topic, store: StoreUnderTest) -> None:
        assert store.trim(topic.name, keep=0) == 0
        topic.append(b"x")
        assert store.trim(topic.name, keep=1) == 0
        assert store.contents(topic.name) == [b"x"]

    @pytest.mark.parametrize(
        ("bound", "kept"),
        [
            (Retention(max_records=3), 3),
            (Retention(max_bytes=35), 3),
            (Retention(max_records=0), 0),
            (Retention(max_bytes=9), 0),
            (Retention(max_records=5, max_bytes=20), 2),
            (Retention(max_records=100), 10),
        ],
        ids=["records", "bytes", "no-records", "no-bytes", "both", "wide"],
    )
    def test_a_trim_keeps_what_its_bounds_allow(
        self, topic: Topic, store: StoreUnderTest, bound: Retention, kept: int
    ) -> None:
        batch = [b"%010d" % number for number in range(10)]
        topic.append_many(batch)
        assert store.operations.trim(topic.name, bound) == 10 - kept
        assert store.contents(topic.name) == batch[10 - kept :]

    @pytest.mark.parametrize(
        ("what", "retention"), [("records", Retention(max_records=3)), ("bytes", Retention(max_bytes=35))]
    )
    def test_the_configured_retention_holds(
        self, connect: Connect, store: StoreUnderTest, name: str, what: str, retention: Retention
    ) -> None:
        client = connect(retention=retention)
        batch = [b"%010d" % number for number in range(10)]
        for payload in batch:
            client.topic(name).append(payload)
        if what not in store.tool.capabilities.enforces:
            _sweep(store, client.maintenance)
        assert store.contents(name) == batch[7:]

    def test_age_counts_and_is_enforced(self, connect: Connect, store: StoreUnderTest, name: str) -> None:
        kept = Retention(max_age=0.05)
        client, topic = connect(retention=kept, append_timeout=0.2), connect(retention=kept).topic(name)
        topic.append(b"old")
        cursor = topic.checkpoint()
        threading.Event().wait(0.4)
        topic.append(b"new")
        _sweep(store, client.maintenance)
        assert store.contents(name) == [b"new"]
        assert read_all(topic.subscribe_from_cursor(cursor), 1) == [b"new"]

    def test_a_sweep_with_a_small_budget_goes_on_where_the_last_one_ended(
        self, connect: Connect, store: StoreUnderTest
    ) -> None:
        client = connect(retention=Retention(max_records=1))
        names = [store.fresh_name() for _ in range(5)]
        for name in names:
            store.grow(name, numbered(4))
        small = spi.SweepBudget(max_records=2, chunk_records=1)
        if not store.disposable:
            not_run("a sweep would touch other topics of this store")
        for _ in range(20):
            if client.maintenance.sweep(small).done:
                break
        assert [store.contents(name) for name in names] == [[b"3"]] * 5

    def test_no_reader_ever_skips_while_records_are_appended_and_removed(
        self, connect: Connect, name: str, store: StoreUnderTest
    ) -> None:
        topic = connect(buffer_records=8, page_records=8).topic(name)
        writer = connect().topic(name)

        def write() -> None:
            for number in range(300):
                writer.append(b"%d" % number)
                if number % 10 == 9:
                    store.trim(name, keep=20)

        subscription = topic.subscribe_from_tail()
        writing = Background(write)
        found = read_until_lost_or(subscription, last=b"299")
        writing.result()
        assert found == numbered(len(found))


def read_until_lost_or(subscription: Subscription, last: bytes) -> list[bytes]:
    """Return what was read up to a record or up to the loss."""
    found: list[bytes] = []
    try:
        with subscription:
            while not found or found[-1] != last:
                found += payloads(take(subscription, 1))
    except CursorUnavailableError:
        assert subscription.receive(timeout=0) is CLOSED
    return found


def _needs_exact(store: StoreUnderTest) -> None:
    if store.tool.capabilities.gap_detection != "exact":
        not_run("the store declares conservative gap detection: it may refuse a place where nothing was lost")


def _sweep(store: StoreUnderTest, operations: spi.Maintenance) -> None:
    if not store.disposable:
        not_run("a sweep would touch other topics of this store")
    deadline = time.monotonic() + PATIENCE
    while not operations.sweep(spi.SweepBudget()).done:
        assert time.monotonic() < deadline, "sweeping does not come to an end"
