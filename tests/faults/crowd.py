"""Many live readers in a process of their own, each at the end of a topic of its own."""

import asyncio
import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

from tailrace.aio import Subscription, connect


class Crowd:
    """A context manager; not thread-safe.

    Args:
        url: Of the store.
        topics: One for each reader.
    """

    def __init__(self, url: str, topics: Sequence[str]) -> None:
        context = multiprocessing.get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_be, args=(url, topics, there))

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._here.close()
        self._process.join(30)

    def follow(self) -> None:
        """Subscribe at the end of each topic, and wait there. Blocks until all do."""
        self._ask(-1)

    def leave(self, count: int) -> None:
        """Close all subscriptions once they have received so many records in all. Blocks."""
        self._ask(count)

    def _ask(self, count: int) -> None:
        self._here.send(count)
        assert self._here.poll(120), "the readers say nothing"
        self._here.recv()


def _be(url: str, topics: Sequence[str], there: Connection) -> None:
    asyncio.run(_follow(url, topics, there))


async def _follow(url: str, topics: Sequence[str], there: Connection) -> None:
    loop = asyncio.get_running_loop()
    received = asyncio.Semaphore(0)

    async def read(subscription: Subscription) -> None:
        async for _ in subscription:
            received.release()

    async with await connect(url) as streams:
        subscriptions: list[Subscription] = []
        tasks: list[asyncio.Task[None]] = []
        while True:
            try:
                count = await loop.run_in_executor(None, there.recv)
            except EOFError:
                return
            if count < 0:
                subscriptions = [await (await streams.topic(t).subscribe_from_tail()).__aenter__() for t in topics]
                tasks = [asyncio.create_task(read(one)) for one in subscriptions]
            else:
                for _ in range(count):
                    await received.acquire()
                for one in subscriptions:
                    one.close()
                await asyncio.gather(*tasks)
            there.send("done")
