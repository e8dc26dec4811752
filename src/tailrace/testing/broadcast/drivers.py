"""Who performs the cases: the blocking channel, or the awaited one in the same synchronous shape."""

from collections.abc import Coroutine, Iterator
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from tailrace import broadcast
from tailrace.broadcast import aio
from tailrace.records import CLOSED, Closed
from tailrace.testing.aio_driver import LoopThread

T = TypeVar("T")


class Channel(broadcast.BroadcastChannel, Protocol):
    """A channel with what Tailrace adds to the Protocol."""

    def stats(self) -> dict[str, int]: ...
    def close(self) -> None: ...


class Driver(Protocol):
    """Turns a URL into a channel."""

    @property
    def name(self) -> str: ...
    def connect(self, url: str, options: broadcast.ConnectOptions) -> Channel:
        """Open a channel."""
        ...


class SyncDriver(Driver):
    """The blocking channel, as it is."""

    name = "sync"

    def connect(self, url: str, options: broadcast.ConnectOptions) -> Channel:
        return broadcast.connect(url, **options)


class AsyncDriver(Driver):
    """The awaited channel, driven from outside its loop. One loop for all channels, started by the first."""

    name = "asyncio"

    def __init__(self) -> None:
        self._loop: LoopThread | None = None

    def connect(self, url: str, options: broadcast.ConnectOptions) -> Channel:
        if self._loop is None:
            self._loop = LoopThread()
        return _Channel(self._loop, self._loop.run(aio.connect(url, **options)))


class _Subscription(broadcast.Subscription):
    def __init__(self, loop: LoopThread, inner: aio.Subscription) -> None:
        self._loop = loop
        self._inner = inner

    def __enter__(self) -> Self:
        self._loop.run(self._inner.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        self._loop.run(self._inner.__aexit__(kind, value, traceback))

    def __iter__(self) -> Iterator[bytes]:
        while (message := self._loop.run(_next(self._inner))) is not CLOSED:
            assert isinstance(message, bytes)
            yield message

    def receive(self, timeout: float = 0.1) -> bytes | Closed | None:
        return self._loop.run(self._inner.receive(timeout))

    def close(self) -> None:
        self._inner.close()

    @property
    def dropped(self) -> int:
        return self._inner.dropped


class _Topic(broadcast.Topic):
    def __init__(self, loop: LoopThread, inner: Any) -> None:  # noqa: ANN401 - a topic, or a half of one
        self._loop = loop
        self._inner = inner

    def publish(self, payload: bytes) -> None:
        self._run(self._inner.publish(payload))

    def subscribe(self) -> _Subscription:
        return _Subscription(self._loop, self._run(self._inner.subscribe()))

    def prepare(self) -> _Subscription:
        return _Subscription(self._loop, self._run(self._inner.prepare()))

    def as_producer(self) -> broadcast.Producer:
        return _Topic(self._loop, self._inner.as_producer())

    def as_subscriber(self) -> broadcast.Subscriber:
        return _Topic(self._loop, self._inner.as_subscriber())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work)


class _Channel(Channel):
    def __init__(self, loop: LoopThread, inner: aio.Channel) -> None:
        self._loop = loop
        self._inner = inner

    def topic(self, name: str) -> _Topic:
        return _Topic(self._loop, self._inner.topic(name))

    def stats(self) -> dict[str, int]:
        return self._inner.stats()

    def close(self) -> None:
        self._loop.run(self._inner.close())


async def _next(subscription: aio.Subscription) -> bytes | Closed:
    async for message in subscription:
        return message
    return CLOSED
