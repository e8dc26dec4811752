"""What an application hands to its server: events whole, at once if alone, together if they come together."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.http.exchange import Exchange
from tests.http.parser import Parser
from tests.http.reader import path_of

from tailrace.opening import open_backend
from tailrace.server import Application, ServerSettings
from tailrace.tokens import KeyRing

Scene = Callable[[Application], Awaitable[None]]


def _play(scene: Scene, **settings: float) -> None:
    async def play() -> None:
        backend, options = open_backend("memory://", {})
        application = Application(backend, KeyRing.new(), settings=ServerSettings(**settings), options=options)
        try:
            await scene(application)
        finally:
            await application.close()

    asyncio.run(play())


async def _live(application: Application, topic: str) -> tuple[Exchange, asyncio.Task[None]]:
    exchange = Exchange(application, path_of(topic, start="tail"))
    running = asyncio.ensure_future(exchange.run())
    await exchange.until(lambda seen: bool(seen.parser.last_id))
    return exchange, running


def _events(exchange: Exchange) -> list[list[bytes]]:
    """Return the records of each message."""
    parts = [Parser().feed(body) for body in exchange.bodies]
    return [[event.payload for event in part if event.type != "end"] for part in parts]


@pytest.mark.parametrize("start", ["beginning", "tail"])
def test_no_event_is_split_over_messages(start: str) -> None:
    async def scene(application: Application) -> None:
        topic = application.service.topic("whole")
        payloads = [b"x" * size for size in (1, 500_000, 3, 70_000, 70_000, 2 * 2**20, 5)]
        if start == "beginning":
            await topic.append_many(payloads)
        exchange = Exchange(application, path_of("whole", start=start))
        running = asyncio.ensure_future(exchange.run())
        await exchange.until(lambda seen: bool(seen.parser.last_id))
        if start == "tail":
            for payload in payloads:
                await topic.append(payload)
        await topic.seal()
        await running

        for body in exchange.bodies[:-1]:
            assert body.endswith(b"\n\n")
        assert [payload for part in _events(exchange) for payload in part] == payloads

    _play(scene)


def test_a_lone_event_goes_out_at_once() -> None:
    async def scene(application: Application) -> None:
        waits = []
        for name in ("a", "b", "c", "d"):
            exchange, running = await _live(application, name)
            begun = asyncio.get_running_loop().time()
            await application.service.topic(name).append(b"x")
            await exchange.until(lambda seen: len(seen.bodies) == 2)
            waits.append(exchange.times[-1] - begun)
            exchange.vanish()
            await running

        # Were they gathered, each would take a second; and a machine that is busy is so for one of them.
        assert min(waits) < 0.5

    _play(scene, gather=1.0)


def test_events_that_come_together_share_one_write() -> None:
    async def scene(application: Application) -> None:
        exchange, running = await _live(application, "together")
        topic = application.service.topic("together")
        await topic.append(b"first")
        await exchange.until(lambda seen: len(seen.bodies) == 2)
        for number in range(10):
            await topic.append(b"%d" % number)
        await exchange.until(lambda seen: sum(map(len, _events(seen))) == 11)

        parts = _events(exchange)
        assert parts[:2] == [[], [b"first"]]
        assert [payload for part in parts[2:] for payload in part] == [b"%d" % number for number in range(10)]
        # One, unless ten appends to memory take seconds.
        assert len(parts[2:]) <= 3
        exchange.vanish()
        await running

    _play(scene, gather=1.0)


def test_a_backlog_goes_out_in_few_writes() -> None:
    async def scene(application: Application) -> None:
        topic = application.service.topic("backlog")
        await topic.append_many([b"%d" % number for number in range(1000)])
        exchange = Exchange(application, path_of("backlog", start="beginning"))
        running = asyncio.ensure_future(exchange.run())
        await exchange.until(lambda seen: sum(map(len, _events(seen))) == 1000)

        # About 150 bytes each, in writes of 64 KiB; a page of the store may end one.
        assert len(exchange.bodies) < 12
        exchange.vanish()
        await running

    _play(scene)


def test_readers_of_one_place_get_the_same_object() -> None:
    async def scene(application: Application) -> None:
        pairs = [await _live(application, "shared") for _ in range(5)]
        await application.service.topic("shared").append(b"x" * 100)
        for exchange, _ in pairs:
            await exchange.until(lambda seen: len(seen.bodies) == 2)

        assert len({id(exchange.bodies[1]) for exchange, _ in pairs}) == 1
        for exchange, running in pairs:
            exchange.vanish()
            await running

    _play(scene)


def test_a_reader_that_takes_nothing_delays_nobody_and_gets_everything() -> None:
    async def scene(application: Application) -> None:
        opened = asyncio.Event()
        stalled = Exchange(application, path_of("stalled", start="beginning"), stall=opened.wait)
        running = asyncio.ensure_future(stalled.run())
        fast, fast_running = await _live(application, "stalled")
        topic = application.service.topic("stalled")
        payloads = [bytes([65 + number % 26]) * 100_000 for number in range(60)]
        for payload in payloads:
            await topic.append(payload)
        await fast.until(lambda seen: sum(map(len, _events(seen))) == 60)
        shared = next(iter(application.service.live.trunks._shared.values()))
        assert shared.trunk is not None
        assert shared.trunk._batches._size <= 2**20
        opened.set()
        await topic.seal()
        await running
        await fast_running

        assert [payload for part in _events(stalled) for payload in part] == payloads

    _play(scene)


def test_a_trunk_that_fails_sends_its_readers_away_instead_of_leaving_them(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(application: Application) -> None:
        pairs = [await _live(application, "broken") for _ in range(3)]
        monkeypatch.setattr("tailrace.sse.frames.Frames.event", lambda *_: 1 // 0)
        await application.service.topic("broken").append(b"x")
        async with asyncio.timeout(10):
            for exchange, running in pairs:
                await running
                assert exchange.bodies[-1].startswith(b"retry:")

    _play(scene)
    assert "ZeroDivisionError" in caplog.text
