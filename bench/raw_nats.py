"""The other side of the NATS benches: nats-py as its own users use it, inside of an event loop, on the same server."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TypeVar

import nats
from nats.aio.msg import Msg

import tailrace
from tailrace import StreamClient
from tailrace.testing.servers.nats import NatsServer

SECONDS = 1.0
IN_FLIGHT = 64
SUBJECT = "raw.t"

T = TypeVar("T")


class Raw:
    """A client with a stream of its own, in an event loop that runs while something is measured."""

    def __init__(self, url: str) -> None:
        self._runner = asyncio.Runner()
        self._client = self.run(nats.connect(url))
        self._jetstream = self._client.jetstream()
        self.run(self._jetstream.add_stream(name="raw", subjects=["raw.>"]))

    def run(self, call: Coroutine[object, object, T]) -> T:
        """Run a call in the loop, and return what it returns."""
        return self._runner.run(call)

    def publish(self, payload: bytes) -> None:
        """Publish one, and wait until it is acknowledged."""
        self.run(self._jetstream.publish(SUBJECT, payload))

    def in_turn(self, payload: bytes) -> float:
        """Return records per second, each published when the one before was acknowledged."""
        return self.run(self._in_turn(payload))

    def in_flight(self, payload: bytes) -> float:
        """Return records per second with so many on their way at any time."""
        return self.run(self._in_flight(payload))

    def fill(self, payload: bytes, count: int) -> None:
        """Publish so many."""
        self.run(self._fill(payload, count))

    def ordered(self, count: int) -> int:
        """Return how many an ordered consumer has received, from the beginning."""
        return self.run(self._ordered(count))

    def empty(self) -> None:
        """Remove all of its records."""
        self.run(self._jetstream.purge_stream("raw"))

    def close(self) -> None:
        """Disconnect."""
        self.run(self._client.close())
        self._runner.close()

    async def _in_turn(self, payload: bytes) -> float:
        done, started = 0, time.perf_counter()
        while time.perf_counter() - started < SECONDS:
            await self._jetstream.publish(SUBJECT, payload)
            done += 1
        return done / (time.perf_counter() - started)

    async def _in_flight(self, payload: bytes) -> float:
        return await self._pipelined(payload, lambda sent, seconds: seconds < SECONDS)

    async def _fill(self, payload: bytes, count: int) -> None:
        await self._pipelined(payload, lambda sent, seconds: sent < count)

    async def _pipelined(self, payload: bytes, going_on: Callable[[int, float], bool]) -> float:
        # With one inbox for all acknowledgements: the client's own way, a future for each, is half as fast.
        inbox, sent, acknowledged = self._client.new_inbox(), 0, 0
        room = asyncio.Event()

        async def count(_: Msg) -> None:
            nonlocal acknowledged
            acknowledged += 1
            if sent - acknowledged <= IN_FLIGHT // 2:
                room.set()

        subscription = await self._client.subscribe(inbox, cb=count)
        started = time.perf_counter()
        while going_on(sent, time.perf_counter() - started):
            while sent - acknowledged >= IN_FLIGHT:
                room.clear()
                await room.wait()
            sent += 1
            await self._client.publish(SUBJECT, payload, reply=inbox)
        while acknowledged < sent:
            room.clear()
            await room.wait()
        rate = sent / (time.perf_counter() - started)
        await subscription.unsubscribe()
        return rate

    async def _ordered(self, count: int) -> int:
        # By a callback: an iterator of the same client is five times slower.
        seen, everything = 0, asyncio.Event()

        async def take(_: Msg) -> None:
            nonlocal seen
            seen += 1
            if seen == count:
                everything.set()

        subscription = await self._jetstream.subscribe(SUBJECT, ordered_consumer=True, cb=take)
        await everything.wait()
        await subscription.unsubscribe()
        return seen


@contextmanager
def both(**settings: str) -> Iterator[tuple[StreamClient, Raw]]:
    """Run a server; give back our client, and a raw one.

    Args:
        settings: Of the store's URL.
    """
    with NatsServer() as server:
        raw = Raw(server.url().removesuffix("/"))
        with tailrace.connect(server.url(**settings), create=True) as streams:
            yield streams, raw
        raw.close()
