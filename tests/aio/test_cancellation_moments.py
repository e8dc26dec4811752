"""S20: a cancellation, or a deadline, at every moment of a delivery. Nothing is lost, repeated, or left behind."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tailrace import CLOSED, DurableStreamRecord
from tailrace.aio import StreamClient, Subscription, Topic, connect, waker

ROUNDS = 40
PATIENCE = 20.0

Read = Callable[[Subscription], Awaitable[object]]


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/events.db"


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(main, debug=True)


def buffered(subscription: Subscription) -> int:
    return subscription._reader.feed.buffer.records


def stand_still(condition: Callable[[], bool]) -> None:
    """Keep the loop from running until something has happened in another thread."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it has not come to that"
        time.sleep(0.0005)


async def rest(subscription: Subscription, found: list[bytes], count: int) -> list[bytes]:
    while len(found) < count:
        record = await subscription.receive(PATIENCE)
        assert isinstance(record, DurableStreamRecord), (record, len(found))
        found.append(record.payload)
    assert await subscription.receive(0.02) is None
    return found


async def waiting(subscription: Subscription, read: Read) -> "asyncio.Task[object]":
    task: asyncio.Task[object] = asyncio.ensure_future(read(subscription))  # type: ignore[arg-type]
    while subscription._reader.feed.waiter._sleeper is None and not task.done():
        await asyncio.sleep(0)
    return task


async def append_elsewhere(topic: Topic, payload: bytes, subscription: Subscription) -> None:
    """Append from a thread, and come back with the loop not having run since the record was there for the reader."""
    writer = asyncio.get_running_loop().run_in_executor(None, lambda: asyncio.run(topic.append(payload)))
    stand_still(lambda: buffered(subscription) == 1)
    del writer


@pytest.mark.parametrize("turns", range(5))
def test_a_cancellation_at_any_turn_of_the_loop_loses_and_repeats_nothing(url: str, turns: int) -> None:
    async def main() -> None:
        async with await connect(url) as streams:
            topic, found = streams.topic("t"), []
            async with await topic.subscribe_from_tail() as subscription:
                assert await subscription.receive(0.02) is None
                for number in range(ROUNDS):
                    task = await waiting(subscription, lambda one: one.receive(PATIENCE))
                    await append_elsewhere(topic, b"%d" % number, subscription)
                    # With none the wake-up has not crossed yet; then it has, and the task is about to run; then it ran.
                    for _ in range(turns):
                        await asyncio.sleep(0)
                    task.cancel()
                    (answer,) = await asyncio.gather(task, return_exceptions=True)
                    if isinstance(answer, DurableStreamRecord):
                        found.append(answer.payload)
                    else:
                        assert isinstance(answer, asyncio.CancelledError)
                    found = await rest(subscription, found, number + 1)
                assert found == [b"%d" % number for number in range(ROUNDS)]
            assert streams.stats()["subscriptions"] == streams.stats()["live_subscriptions"] == 0

    run(main())


async def by_wait_for(subscription: Subscription) -> object:
    try:
        return await asyncio.wait_for(subscription.receive(PATIENCE), 0.005)
    except TimeoutError:
        return None


async def by_timeout(subscription: Subscription) -> object:
    try:
        async with asyncio.timeout(0.005):
            return await subscription.receive(PATIENCE)
    except TimeoutError:
        return None


async def by_its_own(subscription: Subscription) -> object:
    return await subscription.receive(0.005)


@pytest.mark.parametrize("read", [by_wait_for, by_timeout, by_its_own])
def test_a_deadline_in_the_same_turn_as_the_record_loses_and_repeats_nothing(url: str, read: Read) -> None:
    async def main() -> None:
        async with await connect(url) as streams:
            topic, found = streams.topic("t"), []
            async with await topic.subscribe_from_tail() as subscription:
                assert await subscription.receive(0.02) is None
                for number in range(ROUNDS):
                    due = time.monotonic() + 0.005
                    task = await waiting(subscription, read)
                    if task.done():
                        # The machine held us up, and the deadline came before anything was appended.
                        assert await task is None
                    await append_elsewhere(topic, b"%d" % number, subscription)
                    stand_still(lambda due=due: time.monotonic() > due + 0.001)  # type: ignore[misc]
                    answer = await task
                    if answer is not None:
                        assert isinstance(answer, DurableStreamRecord)
                        found.append(answer.payload)
                    found = await rest(subscription, found, number + 1)
                assert found == [b"%d" % number for number in range(ROUNDS)]

    run(main())


def test_whoever_receives_before_the_cancelled_task_has_run_is_woken_all_the_same(url: str) -> None:
    async def main() -> None:
        async with await connect(url) as streams:
            topic = streams.topic("t")
            async with await topic.subscribe_from_tail() as subscription:
                assert await subscription.receive(0.02) is None
                task = await waiting(subscription, lambda one: one.receive(PATIENCE))
                task.cancel()
                asyncio.get_running_loop().call_later(0.05, lambda: asyncio.ensure_future(topic.append(b"x")))
                started = time.monotonic()
                assert isinstance(await subscription.receive(PATIENCE), DurableStreamRecord)
                assert time.monotonic() - started < PATIENCE / 2

    run(main())


def test_a_cancelled_iteration_goes_on_where_it_was(url: str) -> None:
    async def main() -> None:
        async with await connect(url) as streams:
            topic, found = streams.topic("t"), []

            async def iterate(subscription: Subscription) -> None:
                async for record in subscription:
                    found.append(record.payload)  # noqa: PERF401 - one by one, or a cancellation would lose them here

            async with await topic.subscribe_from_tail() as subscription:
                for number in range(ROUNDS):
                    task = asyncio.create_task(iterate(subscription))
                    await topic.append(b"%d" % number)
                    for _ in range(number % 5):
                        await asyncio.sleep(0)
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
                await topic.seal()
                await iterate(subscription)
                assert found == [b"%d" % number for number in range(ROUNDS)]
                assert await subscription.receive() is CLOSED

    run(main())


def test_loops_that_ended_leave_no_wakers_behind(url: str) -> None:
    async def start() -> StreamClient:
        return await connect(url)

    async def use(streams: StreamClient, number: int) -> None:
        # Each its own topic: the append that is left behind may still be stored.
        topic = streams.topic(f"t{number}")
        async with await topic.subscribe_from_tail() as subscription:
            assert await subscription.receive(0) is None
            await topic.append(b"x")
            assert isinstance(await subscription.receive(PATIENCE), DurableStreamRecord)
            # The loop ends with an append and a receive under way.
            for left in (topic.append(b"y"), subscription.receive(PATIENCE)):
                asyncio.create_task(left)  # noqa: RUF006
            await asyncio.sleep(0)

    streams = asyncio.run(start())
    asyncio.run(use(streams, 0))
    for number in range(20):
        asyncio.run(use(streams, 1 + number))
    gc.collect()
    # That of the last one, at most: a future of it may still be on its way. Others of this process still run.
    assert sum(loop.is_closed() for loop in tuple(waker._wakers)) <= 1
    assert streams.stats()["subscriptions"] == 0
    asyncio.run(streams.close())
