"""S20: clients that vanish, before the first byte or in mid-stream, by the hundred, leave nothing behind."""

import asyncio
import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.http.exchange import Exchange
from tests.http.reader import Reader, path_of
from tests.http.server import LocalServer, Run, with_hypercorn, with_our_own, with_uvicorn

from tailrace.opening import open_backend
from tailrace.server import Application, ServerSettings
from tailrace.testing.servers.errors import ServerFailedError
from tailrace.testing.servers.waiting import until
from tailrace.tokens import KeyRing

WITHIN = 5.0
THREADS = 64
"""As many as there may be to wait for the store, at once or idle, besides those of the test."""
IDLE = 160
"""Files that a store may keep open besides those that everything else here needs: three for each of those threads."""
SERVERS = [
    pytest.param(with_uvicorn, id="uvicorn"),
    pytest.param(with_our_own, id="our-own"),
    pytest.param(with_hypercorn, id="hypercorn"),
]


@dataclass(frozen=True)
class Left:
    """What a server holds."""

    streams: int
    shared: int
    subscriptions: int
    sockets: int
    files: int
    threads: int

    @classmethod
    def of(cls, application: Application) -> "Left":
        stats, open_files = application.service.engine.stats(), list(_open_files())
        return cls(
            streams=application.service.live.count,
            shared=len(application.service.live.trunks._shared),
            subscriptions=int(stats["subscriptions"] or 0),
            sockets=sum(name.startswith("socket:") for name in open_files),
            # A store keeps some idle connections, and not always as many.
            files=max(0, len(open_files) - sum(name.startswith("socket:") for name in open_files) - IDLE),
            threads=max(0, threading.active_count() - THREADS),
        )


def _expect(server: LocalServer, before: Left) -> None:
    def is_back() -> bool:
        now = server.call(lambda: Left.of(server.application))
        return all(getattr(now, name) <= getattr(before, name) for name in Left.__dataclass_fields__)

    try:
        until(is_back, "everything is released", timeout=WITHIN)
    except ServerFailedError:
        raise AssertionError(f"{before} became {Left.of(server.application)}") from None


def _warm(server: LocalServer) -> Left:
    """Return what is held once everything has been used that is made on first use, and nobody reads."""
    topic = server.streams.topic("warm")
    topic.append(b"x")
    # As many at once as threads ask the store for them.
    readers = [Reader(server.port, path_of("warm", start=("beginning", "tail")[n % 2])) for n in range(100)]
    for reader in readers:
        reader.until(lambda seen: bool(seen.last_id))
        reader.close()
    until(lambda: server.application.service.live.count == 0, "nobody reads")
    return server.call(lambda: Left.of(server.application))


@pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.long)])
@pytest.mark.parametrize("run", SERVERS)
def test_reset_before_the_response_starts(serve: Callable[..., LocalServer], run: Run, count: int) -> None:
    server = serve(run=run)
    before = _warm(server)
    for number in range(count):
        # Half with a start that asks the store, half with one that does not.
        Reader(server.port, path_of("warm", start=("tail", "beginning")[number % 2])).reset()

    _expect(server, before)
    _still_serves(server)


@pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.long)])
@pytest.mark.parametrize("run", SERVERS)
def test_reset_in_mid_stream(serve: Callable[..., LocalServer], run: Run, count: int) -> None:
    server = serve(run=run)
    before = _warm(server)
    topic = server.streams.topic("mid")
    topic.append_many([b"x" * 10_000] * 20)
    readers = []
    for _ in range(count):
        reader = Reader(server.port, path_of("mid", start="beginning"))
        reader.until_records(random.randint(1, 20))
        readers.append(reader)
    for number, reader in enumerate(readers):
        if number % 10 == 0:
            topic.append(b"while they go")
        reader.reset()

    _expect(server, before)
    _still_serves(server)


@pytest.mark.parametrize("run", SERVERS)
def test_a_client_that_takes_nothing_and_vanishes(serve: Callable[..., LocalServer], run: Run) -> None:
    server = serve(run=run)
    before = _warm(server)
    server.streams.topic("large").append_many([b"x" * 2**20] * 12)
    readers = [Reader(server.port, path_of("large", start="beginning")) for _ in range(5)]
    until(lambda: server.application.service.live.count == 5, "all are served")
    for reader in readers:
        reader.reset()

    _expect(server, before)


@pytest.mark.parametrize("count", [100, pytest.param(500, marks=pytest.mark.long)])
def test_tasks_that_are_cancelled_wherever_they_are(count: int) -> None:
    async def scene() -> None:
        backend, options = open_backend("memory://", {})
        application = Application(backend, KeyRing.new(), settings=ServerSettings(heartbeat=0.1), options=options)
        topic = application.service.topic("cancelled")
        await topic.append_many([b"x"] * 10)
        await _cancel(application, 50)
        await _released(application)
        before = Left.of(application)
        await _cancel(application, count)
        await _released(application)

        after = Left.of(application)
        assert (after.streams, after.shared, after.subscriptions) == (0, 0, 0)
        assert after.threads <= before.threads
        assert len(asyncio.all_tasks()) == 1
        await application.close()

    asyncio.run(scene())


async def _cancel(application: Application, count: int) -> None:
    chance = random.Random(count)
    topic = application.service.topic("cancelled")
    tasks = [
        asyncio.ensure_future(
            Exchange(
                application,
                path_of("cancelled", start=chance.choice(("beginning", "tail"))),
                takes=chance.choice((None, lambda: True, lambda: chance.random() < 0.5)),
            ).run()
        )
        for _ in range(count)
    ]
    while tasks:
        for _ in range(chance.randint(0, 4)):
            await asyncio.sleep(0)
        if chance.random() < 0.2:
            await topic.append(b"y")
        if chance.random() < 0.2:
            await asyncio.sleep(0.005)
        task = tasks.pop(chance.randrange(len(tasks)))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def _released(application: Application) -> None:
    async with asyncio.timeout(WITHIN):
        while application.service.engine.stats()["subscriptions"] or len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0.01)


def _open_files() -> Iterator[str]:
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            yield str(entry.readlink())


def _still_serves(server: LocalServer) -> None:
    """The next ones get what is theirs."""
    for name in ("theirs", "others"):
        server.streams.topic(name).append(name.encode())
        with Reader(server.port, path_of(name, start="beginning")) as reader:
            assert reader.until_records(1) == [name.encode()]
