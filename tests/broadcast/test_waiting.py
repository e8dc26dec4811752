"""Coroutines wait without threads, and lose nothing when cancelled; forked children listen for themselves."""

import asyncio
import os
import threading
from collections.abc import Iterator
from multiprocessing import get_context

import pytest
from tests.broadcast.places import FORMS

from tailrace import broadcast
from tailrace.broadcast import CLOSED, BroadcastUnavailableError, aio
from tailrace.testing.broadcast.listening import hear
from tailrace.testing.reading import numbered
from tailrace.testing.servers.redis import RedisServer


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(params=["memory", *FORMS])
def url(server: RedisServer, request: pytest.FixtureRequest) -> str:
    return "memory://waiting" if request.param == "memory" else f"{server.url}?mode={request.param}"


def test_a_thousand_coroutines_wait_without_a_thread_of_their_own(url: str) -> None:
    async def run() -> int:
        async with await aio.connect(url) as channel:
            topic = channel.topic("many")
            subscriptions = [await topic.subscribe() for _ in range(1000)]
            await asyncio.gather(*(one.__aenter__() for one in subscriptions))
            waiting = asyncio.gather(*(one.receive(20) for one in subscriptions))
            await topic.publish(b"x")
            assert await waiting == [b"x"] * 1000
            return len(set(threading.enumerate()) - before)

    before = set(threading.enumerate())
    # One that listens, and a few for what blocks.
    assert asyncio.run(run()) <= 9


def test_a_cancelled_receive_loses_no_message(url: str) -> None:
    async def run() -> None:
        async with await aio.connect(url) as channel:
            topic = channel.topic("cancelled")
            async with await topic.subscribe() as subscription:
                publishing = asyncio.ensure_future(_publish(topic))
                heard: list[bytes] = []
                while len(heard) < 100:
                    receiving = asyncio.ensure_future(subscription.receive(20))
                    # Cancelled after so many turns of the loop: before it waits, while it does, just as it is woken.
                    for _ in range(len(heard) % 5):
                        await asyncio.sleep(0)
                    receiving.cancel()
                    try:
                        message = await receiving
                    except asyncio.CancelledError:
                        message = await subscription.receive(20)
                    assert isinstance(message, bytes)
                    heard.append(message)
                await publishing
                assert heard == numbered(100)

    asyncio.run(run())


def test_async_iteration_ends_with_the_subscription(url: str) -> None:
    async def run() -> list[bytes]:
        async with await aio.connect(url) as channel:
            topic = channel.topic("iterated")
            heard = []
            async with await topic.as_subscriber().prepare() as subscription:
                await topic.as_producer().publish(b"1")
                await topic.publish(b"2")
                async with asyncio.timeout(60):
                    async for message in subscription:
                        heard.append(message)
                        if message == b"2":
                            subscription.close()
                assert await subscription.receive(0) is CLOSED
            return heard

    assert asyncio.run(run()) == [b"1", b"2"]


def test_several_loops_share_a_channel(url: str) -> None:
    async def listen(channel: aio.Channel, ready: threading.Barrier) -> bytes | object:
        async with await channel.topic("loops").subscribe() as subscription:
            await asyncio.to_thread(ready.wait, 60)
            return await subscription.receive(20)

    channel = asyncio.run(aio.connect(url))
    ready = threading.Barrier(4)
    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.append(asyncio.run(listen(channel, ready)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    ready.wait(60)
    asyncio.run(channel.topic("loops").publish(b"x"))
    for thread in threads:
        thread.join(60)
    asyncio.run(channel.close())
    assert answers == [b"x"] * 3


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_goes_on_with_the_channel_and_not_with_its_subscriptions(url: str) -> None:
    with broadcast.connect(url) as channel:
        topic = channel.topic("forked")
        with topic.subscribe() as subscription:
            topic.publish(b"before")
            assert hear(subscription, 1) == [b"before"]
            child = get_context("fork").Process(target=_in_child, args=(topic, subscription))
            child.start()
            child.join(30)
            assert child.exitcode == 0
            topic.publish(b"after")
            heard = hear(subscription, 1 if url.startswith("memory") else 2)
            assert heard[-1] == b"after"


def _in_child(topic: broadcast.Topic, inherited: broadcast.Subscription) -> None:
    try:
        inherited.receive(1)
    except BroadcastUnavailableError:
        with topic.subscribe() as subscription:
            topic.publish(b"child")
            assert hear(subscription, 1) == [b"child"]
            inherited.close()
            os._exit(0)
    os._exit(1)


async def _publish(topic: aio.Topic) -> None:
    for payload in numbered(100):
        await topic.publish(payload)
        await asyncio.sleep(0)
