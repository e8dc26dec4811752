"""Waits that end before anything comes: cancelled, interrupted, failed, in a child process. Nothing is lost by that."""

import asyncio
import os
import sys
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.rollout.colours import COLOURS
from tests.rollout.fixtures import Deploy, deployed, everything, listener_of, settled

import tailrace
from tailrace import broadcast
from tailrace.broadcast import BroadcastUnavailableError
from tailrace.errors import DurableStreamError, DurableStreamUnavailableError
from tailrace.records import TopicCursor
from tailrace.rollout import Phase, Rollout, Subscription, Topic
from tailrace.rollout import aio as rollout_aio
from tailrace.rollout.ways import Kept
from tailrace.testing.calls import settle_interrupts
from tailrace.testing.reading import numbered

SOURCE = str(Path(sys.modules["tailrace.rollout"].__file__ or "").parent)
FOREVER, AT_ONCE = 3600.0, 0.05

TURNS = [
    (Phase.WRITE_BOTH, Phase.WRITE_BOTH),
    (Phase.READ_DURABLE, Phase.READ_DURABLE),
    (Phase.WRITE_BOTH, Phase.READ_DURABLE),
    (Phase.READ_DURABLE, Phase.WRITE_BOTH),
]


@pytest.mark.parametrize(("before", "after"), TURNS, ids=lambda phase: phase.value)
def test_a_cancelled_receive_loses_no_event(before: Phase, after: Phase) -> None:
    async def publish(topic: rollout_aio.Topic) -> None:
        for payload in numbered(100):
            await topic.publish(payload)
            await asyncio.sleep(0)

    async def run() -> None:
        phase = [before]
        channel, streams = await broadcast.aio.connect("memory://"), await tailrace.aio.connect("memory://")
        async with channel, streams:
            topic = rollout_aio.Rollout(channel, streams, lambda _: phase[0], overlap=0.3).topic("t")
            async with await topic.subscribe() as subscription:
                publishing = asyncio.ensure_future(publish(topic))
                phase[0] = after
                heard: list[bytes] = []
                turns = 0
                while len(heard) < 100:
                    receiving = asyncio.ensure_future(subscription.receive(20))
                    turns += 1
                    # Cancelled after so many turns of the loop: before it waits, while it does, just as it is woken.
                    for _ in range(turns % 7):
                        await asyncio.sleep(0)
                    receiving.cancel()
                    try:
                        event = await receiving
                    except asyncio.CancelledError:
                        event = await subscription.receive(0.01 if turns % 2 else 20)
                    heard += [event] if isinstance(event, bytes) else []
                await publishing
                assert await subscription.receive(0.5) is None
            assert heard == numbered(100)

    asyncio.run(asyncio.wait_for(run(), 60))


class _Interrupt(BaseException):
    """Stands for ``KeyboardInterrupt``, or for what a time limit raises in the thread."""


def _interrupted_at(number: int, call: Callable[[], Any]) -> tuple[bool, Any]:
    """Call, and raise at the so manyeth step through the package; return whether that was reached, and the answer."""
    left = number

    def step(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(SOURCE) or event != "line":
            return step
        left -= 1
        if left == 0:
            raise _Interrupt
        return step

    before = sys.gettrace()
    # Left over from whatever ran before in this process, one keeps Python 3.11 from entering a traced function.
    settle_interrupts()
    sys.settrace(step)
    try:
        return False, call()
    except _Interrupt:
        return True, None
    finally:
        sys.settrace(before)


# A tracer stands in the way of the coroutine that is only made, and never begun, when the interrupt comes between.
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_an_interrupt_at_any_step_of_a_receive_loses_and_doubles_no_event_at_the_stream() -> None:
    with deployed(COLOURS[0]) as running:
        topic = running.process("l", Phase.DURABLE).topic("t")
        with topic.subscribe() as subscription:
            sent, heard, number, reached = 0, [], 1, True
            while reached:
                for _ in range(2):
                    running.streams.topic("t").append(b"%d" % sent)
                    sent += 1
                reached, event = _interrupted_at(number, lambda: subscription.receive(5))
                heard += [event] if isinstance(event, bytes) else []
                number += 1
                heard += everything(subscription, sent - len(heard))
                assert heard == numbered(sent), number
            assert number > 20


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_interrupted_just_as_it_is_on_its_way_to_the_stream_it_has_a_place() -> None:
    with deployed(COLOURS[0], overlap=FOREVER) as running:
        rollout, number, reached = running.process("l", Phase.WRITE_BOTH), 1, True
        while reached:
            running.at["l"] = Phase.WRITE_BOTH
            topic = rollout.topic(f"t{number}")
            with topic.subscribe() as subscription:
                topic.publish(b"before")
                assert subscription.receive(5) == b"before"
                running.at["l"] = Phase.READ_DURABLE
                reached, _ = _interrupted_at(number, lambda: subscription.receive(0))
                assert subscription.cursor is not None or not subscription.at_both, number
                assert subscription.receive(0) is None
                assert subscription.at_both
                assert subscription.cursor is not None, number
            number += 1
        assert number > 20


class _Away:
    """Stands for a store that is away."""

    async def subscribe_from_cursor(self, cursor: TopicCursor) -> Kept:
        raise DurableStreamUnavailableError("away")

    async def checkpoint(self) -> TopicCursor:
        raise DurableStreamUnavailableError("away")


@pytest.mark.parametrize(("before", "after"), TURNS[2:], ids=lambda phase: phase.value)
def test_a_store_that_is_away_while_a_listener_is_handed_over_is_told_and_loses_nothing(
    deployment: Deploy, before: Phase, after: Phase
) -> None:
    with deployment(overlap=0.3) as running:
        topic = running.process("p", Phase.WRITE_BOTH).topic("t")
        with running.process("l", before).topic("t").subscribe() as subscription:
            doors = listener_of(subscription)._doors
            present = doors._stream
            running.at["l"] = after
            assert everything(subscription, 0) == []
            assert subscription.at_both
            doors._stream = _Away()  # type: ignore[assignment]
            for payload in numbered(3):
                topic.publish(payload)
            for _ in range(2):
                with pytest.raises(DurableStreamUnavailableError):
                    subscription.receive(1)
            doors._stream = present
            heard = settled(subscription)
            topic.publish(b"3")
            assert heard + everything(subscription, 4 - len(heard)) == numbered(4)


def test_a_store_that_is_away_when_a_listener_is_to_be_handed_over_leaves_it_at_the_channel(deployment: Deploy) -> None:
    with deployment(overlap=AT_ONCE) as running:
        topic = running.process("p", Phase.WRITE_BOTH).topic("t")
        with running.process("l", Phase.WRITE_BOTH).topic("t").subscribe() as subscription:
            doors = listener_of(subscription)._doors
            present, doors._stream = doors._stream, _Away()  # type: ignore[assignment]
            running.at["l"] = Phase.READ_DURABLE
            with pytest.raises(DurableStreamUnavailableError):
                subscription.receive(1)
            topic.publish(b"1")
            doors._stream = present
            heard = settled(subscription)
            topic.publish(b"2")
            assert heard + everything(subscription, 2 - len(heard)) == [b"1", b"2"]


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(("before", "after"), TURNS, ids=lambda phase: phase.value)
def test_a_forked_child_goes_on_with_a_rollout_and_not_with_its_subscriptions(before: Phase, after: Phase) -> None:
    with deployed(COLOURS[0], overlap=FOREVER) as running:
        rollout = running.process("l", before)
        with rollout.topic("t").subscribe() as subscription:
            rollout.topic("t").publish(b"before")
            assert everything(subscription, 1) == [b"before"]
            running.at["l"] = after
            assert everything(subscription, 0) == []
            child = get_context("fork").Process(target=_in_child, args=(rollout, subscription), daemon=True)
            child.start()
            child.join(30)
            assert child.exitcode == 0
            rollout.topic("t").publish(b"after")
            assert everything(subscription, 1) == [b"after"]


def _in_child(rollout: Rollout, inherited: Subscription) -> None:
    try:
        inherited.receive(1)
    except (BroadcastUnavailableError, DurableStreamError):
        inherited.close()
        topic: Topic = rollout.topic("of the child")
        with topic.subscribe() as subscription:
            topic.publish(b"child")
            assert everything(subscription, 1) == [b"child"]
            os._exit(0)
    os._exit(1)
