"""A topic, for coroutines: check the arguments, hand on to the engine."""

import asyncio
import functools
from collections.abc import Callable, Iterable

from tailrace import arguments
from tailrace.aio.subscription import Subscription
from tailrace.aio.waiting import run
from tailrace.aio.waker import waker_of
from tailrace.engine import Engine
from tailrace.records import TopicCursor
from tailrace.spi import Place


class Producer:
    """The writing half of a topic. May be used from several loops and threads."""

    __slots__ = ("_engine", "_name")

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._name = name

    @property
    def name(self) -> str:
        """The topic's name."""
        return self._name

    async def append(self, payload: bytes) -> None:
        """Append one record; wait until the store has accepted it.

        Concurrent calls share one commit. One call never stores more than one record. Cancelled, it may or may
        not have been stored.

        Raises:
            InvalidTypeError: ``payload`` is not bytes.
            PayloadTooLargeError: It is over the limit; nothing was sent.
            TopicSealedError: The topic is sealed; nothing was stored.
            DurableStreamUnavailableError: Not stored, or unknown (``maybe_stored``).
        """
        await self._append([arguments.payload_bytes(payload)])

    async def append_many(self, payloads: Iterable[bytes]) -> None:
        """Append records contiguously and in order, in one round trip; wait until they are stored.

        All or nothing where the store can (``capabilities.atomic_batches``). No payloads, nothing done.

        Raises:
            As ``append``; and InvalidArgumentError for more than 4096 payloads.
        """
        checked = arguments.payload_list(payloads)
        if checked:
            await self._append(checked)

    async def _append(self, payloads: list[bytes]) -> None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        waker = waker_of(loop)
        submission = self._engine.writing.submit(self._name, payloads, lambda: waker.wake(future))
        timer = loop.call_later(self._engine.options.append_timeout, submission.expire)
        try:
            await future
        finally:
            timer.cancel()
            submission.expire()
        submission.result()

    def __repr__(self) -> str:
        return f"<aio.{type(self).__name__} {self._name!r}>"


class Topic(Producer):
    """A named, ordered, append-only sequence of records. Cheap to make; holds nothing open."""

    __slots__ = ()

    def as_producer(self) -> Producer:
        """Return a view that can only append."""
        return Producer(self._engine, self._name)

    async def subscribe_from_beginning(self) -> Subscription:
        """Subscribe from the earliest record that is retained now, inclusive. Waits for the store.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        return await self._subscribe(functools.partial(self._engine.beginning, self._name))

    async def subscribe_from_cursor(self, cursor: TopicCursor) -> Subscription:
        """Subscribe strictly after a cursor of this topic. Waits for the store.

        Raises:
            CursorUnavailableError: It is not one of this topic (found without asking the store), or it is gone.
            DurableStreamUnavailableError: The store is away.
        """
        self._engine.codec(self._name).decode(cursor)
        return await self._subscribe(functools.partial(self._engine.resume, self._name, cursor))

    async def subscribe_from_tail(self) -> Subscription:
        """Subscribe strictly after the record that is the last one now. Waits for the store.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        return await self._subscribe(functools.partial(self._engine.tail, self._name))

    async def checkpoint(self) -> TopicCursor:
        """Return a cursor for the current tail: fix the start now, dispatch the work, subscribe later.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        tail = await run(self._engine, functools.partial(self._engine.tail, self._name))
        return self._engine.codec(self._name).encode(tail)

    async def seal(self, *, error: str | None = None) -> None:
        """End the topic for good. Idempotent: the first seal stands. Waits for the store.

        Args:
            error: Why the topic ends as failed; readers find it in ``subscription.end``.

        Raises:
            DurableStreamUnavailableError: The store is away; sealing again is always safe.
        """
        await run(self._engine, functools.partial(self._engine.seal, self._name, arguments.seal_error(error)))

    async def _subscribe(self, start: Callable[[], Place]) -> Subscription:
        return Subscription(self._engine.open(self._name, await run(self._engine, start)))
