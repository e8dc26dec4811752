"""Both colours of a rollout, in the synchronous shape that the tests are written in."""

import asyncio
import inspect
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Protocol, Self

import tailrace
from tailrace import broadcast
from tailrace.broadcast import ConnectOptions
from tailrace.records import CLOSED
from tailrace.rollout import Rollout
from tailrace.rollout import aio as rollout_aio
from tailrace.rollout.phases import Flag
from tailrace.testing.aio_driver import LoopThread


class Colour(Protocol):
    """Opens the two ways, and makes one of them."""

    name: str

    def channel(self, url: str, **options: Any) -> Any:
        """Open a channel."""
        ...

    def streams(self, url: str) -> Any:
        """Open a store of streams."""
        ...

    def rollout(self, channel: Any, streams: Any, flag: Flag, overlap: float) -> Any:
        """Return both as one channel."""
        ...


class Blocking(Colour):
    """As it is."""

    name = "sync"

    def channel(self, url: str, **options: Any) -> broadcast.Channel:
        return broadcast.connect(url, **options)

    def streams(self, url: str) -> tailrace.StreamClient:
        return tailrace.connect(url)

    def rollout(self, channel: Any, streams: Any, flag: Flag, overlap: float) -> Rollout:
        return Rollout(channel, streams, flag, overlap=overlap)


class Awaited(Colour):
    """Driven from outside its loop, in which nothing may block it: one loop for all, started by the first."""

    name = "asyncio"

    def __init__(self) -> None:
        self._loop: LoopThread | None = None

    def channel(self, url: str, **options: Any) -> "Driven":
        return self._driven(broadcast.aio.connect(url, **ConnectOptions(**options)))

    def streams(self, url: str) -> "Driven":
        return self._driven(tailrace.aio.connect(url))

    def rollout(self, channel: Any, streams: Any, flag: Flag, overlap: float) -> "Driven":
        return Driven(self._started(), rollout_aio.Rollout(channel.awaited, streams.awaited, flag, overlap=overlap))

    def _driven(self, opening: Any) -> "Driven":
        loop = self._started()
        return Driven(loop, loop.run(opening))

    def _started(self) -> LoopThread:
        if self._loop is None:
            self._loop = LoopThread()
        return self._loop


COLOURS: tuple[Colour, ...] = (Blocking(), Awaited())


class Driven:
    """An awaited object: what its methods await is run to its end, and what they return is driven too.

    Attributes:
        awaited: The object itself.
    """

    def __init__(self, loop: LoopThread, awaited: Any) -> None:
        self._loop = loop
        self.awaited = awaited

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.awaited, name)
        return (lambda *given, **named: self._done(found(*given, **named))) if inspect.ismethod(found) else found

    def __enter__(self) -> Self:
        self._loop.run(self.awaited.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        self._loop.run(self.awaited.__aexit__(kind, value, traceback))

    def __iter__(self) -> Iterator[bytes]:
        while (event := self._loop.run(_next(self.awaited))) is not CLOSED:
            yield event

    def __repr__(self) -> str:
        return repr(self.awaited)

    def _done(self, answer: Any) -> Any:
        if asyncio.iscoroutine(answer):
            answer = self._loop.run(answer)
        return Driven(self._loop, answer) if ".aio." in type(answer).__module__ else answer


async def _next(subscription: Any) -> Any:
    async for event in subscription:
        return event
    return CLOSED
