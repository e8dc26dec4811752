"""S20: an interrupt at every place of a subscription's life, and of an append, leaves nothing behind and stops nobody.

What an interrupt may cost is the call that it hit. What it must never cost is the engine's own bookkeeping, which all
readers of the process share: a wake-up that nobody sends any more, a loop that everybody believes to run, a channel
that is half in and half out.
"""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from tests.unit.engine.interrupter import Interrupter, SoftTimeLimit

from tailrace import CursorUnavailableError, DurableStreamRecord, Retention, StreamClient, Subscription
from tailrace.backends.memory import MemoryStore

SOON = 5.0
"""Half of what it takes until the loop looks around by itself."""

Life = Callable[[StreamClient, list[Subscription]], None]


def a_life(streams: StreamClient, opened: list[Subscription]) -> None:
    opened.append(streams.topic("t").subscribe_from_beginning())
    with opened[-1] as subscription:
        subscription.receive(SOON)
        subscription.receive(0)


def a_life_beside_another_reader_of_the_topic(streams: StreamClient, opened: list[Subscription]) -> None:
    opened.append(streams.topic("beside").subscribe_from_tail())
    with opened[-1] as subscription:
        subscription.receive(0)


def a_failed_enter(streams: StreamClient, opened: list[Subscription]) -> None:
    opened.append(streams.topic("t").subscribe_from_beginning())
    streams.topic("t").append(b"more")
    streams.maintenance.trim("t", Retention(max_records=1))
    with suppress(CursorUnavailableError):
        opened[-1].__enter__()


def an_append(streams: StreamClient, opened: list[Subscription]) -> None:
    streams.topic("beside").append(b"x")


def the_end_of_a_topic(streams: StreamClient, opened: list[Subscription]) -> None:
    streams.topic("t").seal()
    opened.append(streams.topic("t").subscribe_from_tail())
    with opened[-1] as subscription:
        subscription.receive(SOON)


def gauges(streams: StreamClient) -> list[object]:
    stats = streams.stats()
    return [stats["subscriptions"], stats["live_subscriptions"], stats["live_topics"]]


def hears(streams: StreamClient, name: str) -> bool:
    """Whether a reader that starts now is told of what is appended to a topic that nobody else reads."""
    topic = streams.topic(name)
    with topic.subscribe_from_tail() as subscription:
        assert subscription.receive(0) is None
        topic.append(b"x")
        return isinstance(subscription.receive(SOON), DurableStreamRecord)


@pytest.mark.parametrize(
    "life",
    [a_life, a_life_beside_another_reader_of_the_topic, a_failed_enter, an_append, the_end_of_a_topic],
    ids=lambda life: life.__name__,
)
@pytest.mark.parametrize("others", [True, False], ids=["among-others", "alone"])
def test_an_interrupt_leaves_nothing_behind_and_everybody_else_goes_on(life: Life, others: bool) -> None:
    at, hit = 0, True
    while hit:
        with StreamClient(MemoryStore()) as streams:
            streams.topic("t").append(b"0")
            beside = streams.topic("beside").subscribe_from_tail()
            if others:
                beside.__enter__()
                assert beside.receive(0) is None
            before = gauges(streams)
            interrupter = Interrupter(at)
            opened: list[Subscription] = []
            with suppress(SoftTimeLimit), interrupter.at_work():
                life(streams, opened)
            where = f"interrupted at call {at}"
            for subscription in opened:
                # Closed already, unless it was hit before it was in its block.
                subscription.close()
            assert hears(streams, "later"), where
            if others:
                streams.topic("beside").append(b"marker")
                while (record := beside.receive(SOON)) is not None and record.payload != b"marker":  # type: ignore[union-attr]
                    assert record.payload == b"x", where  # type: ignore[union-attr]
                assert record is not None, where
                assert beside.receive(0) is None
            assert gauges(streams) == before, where
            started = time.monotonic()
            beside.close()
        assert time.monotonic() - started < SOON, where
        at, hit = at + 1, interrupter.hit
    assert at > 20


def test_what_an_interrupted_append_did_store_is_told_at_once() -> None:
    at, hit, stored, last = 0, True, 0, b""
    with StreamClient(MemoryStore()) as streams:
        topic = streams.topic("t")
        with topic.subscribe_from_tail() as subscription:
            assert subscription.receive(0) is None
            while hit:
                interrupter = Interrupter(at)
                with suppress(SoftTimeLimit), interrupter.at_work():
                    topic.append(b"%d" % at)
                with topic.subscribe_from_beginning() as everything:
                    while (record := everything.receive(0)) is not None:
                        last = record.payload  # type: ignore[union-attr]
                if last == b"%d" % at:
                    stored += 1
                    record = subscription.receive(SOON)
                    assert record is not None, f"interrupted at call {at}"
                    assert record.payload == last  # type: ignore[union-attr]
                assert subscription.receive(0) is None
                at, hit = at + 1, interrupter.hit
    assert stored > 5


@pytest.mark.parametrize("others", [True, False], ids=["among-others", "alone"])
def test_a_close_that_was_interrupted_has_closed(others: bool) -> None:
    at, hit = 0, True
    with StreamClient(MemoryStore()) as streams:
        other = streams.topic("t").subscribe_from_tail()
        if others:
            other.__enter__()
        while hit:
            if others:
                assert other.receive(0) is None
            before = gauges(streams)
            subscription = streams.topic("t").subscribe_from_tail().__enter__()
            assert subscription.receive(0) is None
            interrupter = Interrupter(at)
            with suppress(SoftTimeLimit), interrupter.at_work():
                subscription.close()
            if others:
                assert other.receive(0) is None
            # Only an interrupt before its first step is one before it: then it is still open.
            if at >= 2:
                assert gauges(streams) == before, f"interrupted at call {at}"
            subscription.close()
            at, hit = at + 1, interrupter.hit
        other.close()
    assert at > 10
