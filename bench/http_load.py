"""Load for an HTTP server, from one event loop: posts that follow each other, and readers of event streams.

Bare protocols and no client library, so that the server is what is measured.
"""

import asyncio
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from typing_extensions import override

from bench.http_servers import Served

PAYLOAD_BYTES = 100
STAMP = re.compile(rb"(\d{18})x")


@dataclass(frozen=True)
class Posted:
    """What posting gave: a rate, and the 99th percentile of what one took, in seconds."""

    rate: float
    p99: float


class Poster(asyncio.Protocol):
    """One connection that posts again as soon as it is answered, or when it is told."""

    def __init__(self, served: Served, done: Callable[["Poster"], None]) -> None:
        self._head = f"POST {served.append} HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\ncontent-type: text/plain\r\n"
        self._done = done
        self.sent_at = 0.0

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def post(self) -> None:
        """Send a record that begins with the time."""
        body = b"%018dx" % time.monotonic_ns()
        body += b"." * (PAYLOAD_BYTES - len(body))
        self.sent_at = time.perf_counter()
        self.transport.write(f"{self._head}content-length: {len(body)}\r\n\r\n".encode() + body)

    @override
    def data_received(self, data: bytes) -> None:
        # Answers are short and come whole.
        assert data.startswith(b"HTTP/1.1 20"), data[:200]
        self._done(self)


@dataclass(eq=False)
class Reader(asyncio.Protocol):
    """One open event stream: counts events, and notes how late they are if it is to."""

    served: Served
    timed: bool = False
    events: int = 0
    late: list[int] = field(default_factory=list)
    started: bool = False
    _rest: bytes = b""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(
            f"GET {self.served.events} HTTP/1.1\r\nhost: 127.0.0.1:{self.served.port}\r\n\r\n".encode()
        )

    @override
    def data_received(self, data: bytes) -> None:
        self.started = True
        self.events += data.count(b"..\n")
        if self.timed:
            now = time.monotonic_ns()
            self.late += [now - int(stamp) for stamp in STAMP.findall(data)]


async def connect(served: Served, make: Callable[[], asyncio.Protocol], count: int) -> list[asyncio.Protocol]:
    """Open connections, some at a time."""
    loop = asyncio.get_running_loop()
    made: list[asyncio.Protocol] = []
    while len(made) < count:
        some = min(100, count - len(made))
        opened = await asyncio.gather(*(loop.create_connection(make, "127.0.0.1", served.port) for _ in range(some)))
        made += [protocol for _, protocol in opened]
    return made


async def readers(served: Served, count: int, *, timed: int = 0) -> list[Reader]:
    """Open event streams, of which some note how late events are; return once all have begun."""
    left = iter(range(count))
    made = await connect(served, lambda: Reader(served, timed=next(left) < timed), count)
    streams = [protocol for protocol in made if isinstance(protocol, Reader)]
    while not all(reader.started for reader in streams):
        await asyncio.sleep(0.02)
    return streams


async def post(served: Served, concurrency: int, seconds: float, *, rate: float | None = None) -> Posted:
    """Post for some seconds: as fast as answers come, or at a rate."""
    took: list[float] = []
    idle: list[Poster] = []
    running = True

    def done(poster: Poster) -> None:
        took.append(time.perf_counter() - poster.sent_at)
        if rate is None and running:
            poster.post()
        else:
            idle.append(poster)

    posters = [p for p in await connect(served, lambda: Poster(served, done), concurrency) if isinstance(p, Poster)]
    began = time.perf_counter()
    if rate is None:
        for poster in posters:
            poster.post()
        await asyncio.sleep(seconds)
    else:
        idle += posters
        sent = 0
        while (now := time.perf_counter() - began) < seconds:
            while sent < now * rate and idle:
                idle.pop().post()
                sent += 1
            await asyncio.sleep(0.001)
    elapsed = time.perf_counter() - began
    count = len(took)
    running = False
    while len(idle) < len(posters):
        await asyncio.sleep(0.01)
    for poster in posters:
        poster.transport.close()
    return Posted(count / elapsed, quantile(took, 0.99))


def quantile(values: list[float], share: float) -> float:
    """Return the value below which that share lies."""
    return statistics.quantiles(values, n=1000)[int(share * 1000) - 1] if len(values) > 1 else values[0]
