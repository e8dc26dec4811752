"""The awaited subscription: a reader, and the waiting of a coroutine."""

import asyncio
import functools
from types import TracebackType
from typing import Self

from tailrace import arguments
from tailrace.aio.waiting import run, settled
from tailrace.aio.waker import waker_of
from tailrace.engine import Engine, Reader, Step
from tailrace.records import Closed, DurableStreamRecord, StreamEnd, TopicCursor


class Subscription:
    """One independent reader of one topic. One-shot; only ``close`` may be called from other tasks or threads.

    ``async with`` it, then ``receive`` or ``async for``, which ends when the subscription does.
    """

    __slots__ = ("__weakref__", "_engine", "_reader", "_ready")

    def __init__(self, engine: Engine, reader: Reader) -> None:
        self._engine = engine
        self._reader = reader
        self._ready = reader.ready

    async def __aenter__(self) -> Self:
        try:
            await run(self._engine, self._reader.enter)
        except asyncio.CancelledError:
            # The worker may still be entering it; then it finds it closed.
            self._reader.close()
            raise
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.close()

    async def receive(self, timeout: float = 0.1) -> DurableStreamRecord | Closed | None:
        """Wait up to ``timeout`` seconds for the next record; see the contract.

        Cancelling it loses no record: nothing is awaited between taking a record and returning it.
        """
        try:
            if timeout >= 0:
                record = self._ready.popleft()
                self._reader.last = record
                return record
        except (IndexError, TypeError):
            pass
        return await self._receive(arguments.timeout_seconds(timeout))

    async def _receive(self, timeout: float) -> DurableStreamRecord | Closed | None:
        reader, waiter = self._reader, self._reader.feed.waiter
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        pulled = False
        while True:
            generation = waiter.generation
            outcome = reader.step()
            if isinstance(outcome, DurableStreamRecord):
                reader.last = outcome
                return outcome
            if isinstance(outcome, Closed):
                return outcome
            remaining = deadline - loop.time()
            if outcome is Step.PULL and (remaining > 0 or not pulled):
                await run(self._engine, reader.pull)
                pulled = True
            elif remaining <= 0:
                return None
            else:
                await self._wait(loop, generation, min(remaining, reader.pause()))

    async def _wait(self, loop: asyncio.AbstractEventLoop, generation: int, timeout: float) -> None:
        future: asyncio.Future[None] = loop.create_future()
        waker, waiter = waker_of(loop), self._reader.feed.waiter
        wake = functools.partial(waker.wake, future)
        waiter.listen(wake)
        try:
            if waiter.generation == generation:
                await settled(future, timeout)
        finally:
            waiter.leave(wake)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> DurableStreamRecord:
        while True:
            outcome = await self.receive(arguments.FOREVER)
            if isinstance(outcome, DurableStreamRecord):
                return outcome
            if isinstance(outcome, Closed):
                raise StopAsyncIteration

    def close(self) -> None:
        """End this subscription. Idempotent, never raises, does not block; from any task or thread."""
        self._reader.close()

    @property
    def cursor(self) -> TopicCursor:
        """The safe place to resume from, at any time: after the last record returned, or the fixed start."""
        return self._reader.cursor

    @property
    def end(self) -> StreamEnd | None:
        """Why this subscription ended; ``None`` while it has not."""
        return self._reader.end

    def __repr__(self) -> str:
        return f"<aio.{self._reader.describe()}>"
