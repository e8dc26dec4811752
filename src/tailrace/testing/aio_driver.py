"""The asyncio facade in the synchronous shape of the kit: a private event loop in a thread of its own.

Every call is one coroutine on that loop, so a case exercises the awaited side from end to end.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from tailrace import aio, spi
from tailrace.operations import Operations
from tailrace.options import EngineOptions
from tailrace.protocols import DurableStreamProducer
from tailrace.records import Closed, DurableStreamRecord, StreamEnd, TopicCursor
from tailrace.testing.calls import Call, Cancelled, ThreadCall
from tailrace.testing.drivers import Client, Driver, Subscription, Topic

T = TypeVar("T")


class LoopThread:
    """An event loop running in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._running: dict[int, asyncio.Task[Any]] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="tailrace-kit-loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end; block until then."""
        future = asyncio.run_coroutine_threadsafe(self._noted(threading.get_ident(), work), self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise Cancelled from None
        except BaseException:
            # An exception that was thrown into the waiting thread must not leave the coroutine running.
            future.cancel()
            raise

    def cancel(self, caller: int) -> None:
        """Cancel the task that a thread waits for, if it waits for any; return once that is done."""
        asyncio.run_coroutine_threadsafe(self._cancel(caller), self._loop).result()

    async def _noted(self, caller: int, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        self._running[caller] = task
        try:
            return await work
        finally:
            del self._running[caller]

    async def _cancel(self, caller: int) -> None:
        if caller in self._running:
            self._running[caller].cancel()


class LoopCall(ThreadCall[T]):
    """Runs in a thread that waits for a task, which is what is cancelled."""

    def __init__(self, loop: LoopThread, call: Callable[[], T]) -> None:
        self._loop = loop
        super().__init__(call)

    def strike(self, thread: int) -> None:
        self._loop.cancel(thread)


class _Subscription(Subscription):
    def __init__(self, loop: LoopThread, inner: aio.Subscription) -> None:
        self._loop = loop
        self._inner = inner

    def __enter__(self) -> Self:
        self._loop.run(self._inner.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        self._inner.close()

    def receive(self, timeout: float = 0.1) -> DurableStreamRecord | Closed | None:
        return self._loop.run(self._inner.receive(timeout))

    def close(self) -> None:
        self._inner.close()

    @property
    def cursor(self) -> TopicCursor:
        return self._inner.cursor

    @property
    def end(self) -> StreamEnd | None:
        return self._inner.end


class _Producer(DurableStreamProducer):
    def __init__(self, loop: LoopThread, inner: aio.Producer) -> None:
        self._loop = loop
        self._producer = inner

    def append(self, payload: bytes) -> None:
        self._loop.run(self._producer.append(payload))

    def append_many(self, payloads: Iterable[bytes]) -> None:
        self._loop.run(self._producer.append_many(payloads))


class _Topic(_Producer, Topic):
    def __init__(self, loop: LoopThread, inner: aio.Topic) -> None:
        super().__init__(loop, inner)
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    def as_producer(self) -> DurableStreamProducer:
        return _Producer(self._loop, self._inner.as_producer())

    def subscribe_from_beginning(self) -> Subscription:
        return _Subscription(self._loop, self._loop.run(self._inner.subscribe_from_beginning()))

    def subscribe_from_cursor(self, cursor: TopicCursor) -> Subscription:
        return _Subscription(self._loop, self._loop.run(self._inner.subscribe_from_cursor(cursor)))

    def subscribe_from_tail(self) -> Subscription:
        return _Subscription(self._loop, self._loop.run(self._inner.subscribe_from_tail()))

    def checkpoint(self) -> TopicCursor:
        return self._loop.run(self._inner.checkpoint())

    def seal(self, *, error: str | None = None) -> None:
        self._loop.run(self._inner.seal(error=error))


class _Client(Client):
    def __init__(self, loop: LoopThread, backend: spi.Backend, options: EngineOptions) -> None:
        self._backend = backend
        self._loop = loop
        self._inner = aio.StreamClient(backend, options=options)

    def topic(self, name: str) -> Topic:
        return _Topic(self._loop, self._inner.topic(name))

    def stats(self) -> Mapping[str, Any]:
        return self._inner.stats()

    def close(self) -> None:
        self._closed = True
        self._loop.run(self._inner.close())

    @property
    def capabilities(self) -> spi.Capabilities:
        return self._inner.capabilities

    @property
    def maintenance(self) -> Operations:
        # The awaited client has none: operations are for scripts.
        return Operations(self._backend, lambda: self._closed)


class AsyncDriver(Driver):
    """The awaited client, driven from outside its loop. One loop for all clients, started by the first."""

    name = "asyncio"
    callers_send = False

    def __init__(self) -> None:
        self._loop: LoopThread | None = None

    def connect(self, backend: spi.Backend, options: EngineOptions) -> Client:
        return _Client(self._started(), backend, options)

    def start(self, call: Callable[[], T]) -> Call[T]:
        return LoopCall(self._started(), call)

    def _started(self) -> LoopThread:
        if self._loop is None:
            self._loop = LoopThread()
        return self._loop
