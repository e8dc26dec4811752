"""Cancelling a call costs that call and nothing else, wherever it is hit: no record, no place in line, no reply.

Each case runs with an interrupted thread, a cancelled task, or a killed greenlet, as the driver has it.
"""

from contextlib import suppress

import pytest

from tailrace.errors import DurableStreamUnavailableError
from tailrace.records import CLOSED, DurableStreamRecord, TopicCursor
from tailrace.testing.calls import Cancelled
from tailrace.testing.drivers import Client, Driver, Subscription, Topic
from tailrace.testing.faults import FaultyBackend, Stall
from tailrace.testing.faults.backend import Method
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import PATIENCE, Background, awake, nothing, numbered, payloads, read_all, take
from tailrace.testing.stores import StoreUnderTest


@pytest.mark.usefixtures("swallowed_interrupts")
class TestCancellation:
    @pytest.mark.parametrize("first", ["cancel", "append"])
    def test_a_receive_cancelled_at_the_moment_of_delivery_loses_and_repeats_nothing(
        self, topic: Topic, driver: Driver, repeats: int, first: str
    ) -> None:
        found: list[bytes] = []
        with topic.subscribe_from_tail() as subscription:
            for payload in numbered(repeats):
                before = subscription.cursor
                call = driver.start(lambda: subscription.receive(PATIENCE))
                steps = [call.cancel, lambda payload=payload: topic.append(payload)]  # type: ignore[misc]
                for step in steps if first == "cancel" else reversed(steps):
                    step()
                with suppress(Cancelled):
                    found.append(_payload(call.result()))
                    continue
                if subscription.cursor != before:
                    # A thread was hit just after ``receive`` had returned: the record counts as received, and only
                    # this case does not have it.
                    found.append(_after(topic, before, subscription.cursor))
            found += payloads(take(subscription, repeats - len(found)))
            nothing(subscription)
        assert found == numbered(repeats)

    def test_a_receive_cancelled_while_it_reads_loses_and_repeats_nothing(
        self, connect: Connect, driver: Driver, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, page_records=2, buffer_records=2).topic(name)
        topic.append_many(numbered(12))
        with topic.subscribe_from_beginning() as subscription:
            found = payloads(take(subscription, 2))
            for _ in range(4):
                _cancel_in("read", faulty, driver, lambda: subscription.receive(PATIENCE), found)
                # Whether the read went on without its caller or not: the next one begins after this page.
                found += payloads(take(subscription, -len(found) % 2 or 2))
            found += payloads(take(subscription, 12 - len(found)))
            nothing(subscription)
        assert found == numbered(12)

    def test_a_cancelled_subscribe_acquires_nothing(
        self, connect: Connect, driver: Driver, faulty: FaultyBackend, name: str
    ) -> None:
        client = connect(faulty)
        topic = client.topic(name)
        topic.append_many(numbered(3))
        for subscribe in (topic.subscribe_from_beginning, topic.subscribe_from_tail, topic.checkpoint):
            _cancel_in("bounds", faulty, driver, subscribe)
        cursor = topic.checkpoint()
        _cancel_in("read", faulty, driver, lambda: topic.subscribe_from_cursor(cursor))
        assert _gauges(client) == (0, 0, 0)
        assert read_all(topic.subscribe_from_beginning(), 3) == numbered(3)

    def test_a_cancelled_enter_closes_and_releases(
        self, connect: Connect, driver: Driver, faulty: FaultyBackend, name: str
    ) -> None:
        client = connect(faulty)
        topic = client.topic(name)
        topic.append_many(numbered(3))
        subscription = topic.subscribe_from_beginning()
        _cancel_in("read", faulty, driver, subscription.__enter__)
        assert subscription.receive(timeout=0) is CLOSED
        with pytest.raises(DurableStreamUnavailableError):
            subscription.__enter__()
        assert _gauges(client) == (0, 0, 0)
        assert read_all(topic.subscribe_from_beginning(), 3) == numbered(3)

    def test_a_cancelled_append_stores_at_most_one_record_and_harms_nobody(
        self, connect: Connect, driver: Driver, faulty: FaultyBackend, name: str, store: StoreUnderTest
    ) -> None:
        topic = connect(faulty).topic(name)
        for number in range(5):
            stall = Stall()
            faulty.next("append", stall)
            call = driver.start(lambda number=number: topic.append(b"cancelled %d" % number))  # type: ignore[misc]
            assert stall.reached.wait(PATIENCE)
            behind = Background(lambda number=number: topic.append(b"behind %d" % number))  # type: ignore[misc]
            call.cancel()
            stall.release()
            with suppress(Cancelled):
                call.result()
            with suppress(DurableStreamUnavailableError):
                behind.result()
            topic.append(b"after %d" % number)
        found = store.contents(name)
        assert len(found) == len(set(found))
        assert [payload for payload in found if payload.startswith(b"after")] == [b"after %d" % n for n in range(5)]

    def test_the_next_caller_gets_the_reply_to_its_own_question(
        self, streams: Client, driver: Driver, store: StoreUnderTest, repeats: int
    ) -> None:
        awake(streams)
        topics = [streams.topic(store.fresh_name()) for _ in range(3)]
        for number, topic in enumerate(topics):
            topic.append_many(numbered(20, 100 * number))
        for turn in range(repeats // 3):
            calls = [driver.start(lambda topic=topic: _first(topic)) for topic in topics]  # type: ignore[misc]
            calls[turn % 3].cancel()
            for number, call in enumerate(calls):
                with suppress(Cancelled):
                    assert call.result() == b"%d" % (100 * number)
        for number, topic in enumerate(topics):
            assert read_all(topic.subscribe_from_beginning(), 20) == numbered(20, 100 * number)


def _cancel_in(
    method: Method, faulty: FaultyBackend, driver: Driver, call: object, found: list[bytes] | None = None
) -> None:
    """Cancel a call while the store is in that method on its behalf; note a record that it returned all the same."""
    assert callable(call)
    stall = Stall()
    faulty.next(method, stall)
    running = driver.start(call)
    assert stall.reached.wait(PATIENCE)
    running.cancel()
    stall.release()
    with suppress(Cancelled):
        answer = running.result()
        if found is not None:
            found.append(_payload(answer))


def _payload(answer: object) -> bytes:
    assert isinstance(answer, DurableStreamRecord), answer
    return answer.payload


def _after(topic: Topic, before: TopicCursor, cursor: TopicCursor) -> bytes:
    """Return the one record between two cursors."""
    with topic.subscribe_from_cursor(before) as subscription:
        (record,) = take(subscription, 1)
    assert record.cursor == cursor
    return record.payload


def _first(topic: Topic) -> bytes:
    subscription: Subscription
    with topic.subscribe_from_beginning() as subscription:
        (record,) = take(subscription, 1)
    return record.payload


def _gauges(client: Client) -> tuple[int, int, int]:
    stats = client.stats()
    return stats["subscriptions"], stats["live_subscriptions"], stats["live_topics"]
