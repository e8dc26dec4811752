"""Our own server takes what is live there and then, without a task for each reader; bytes and order are as ever."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.http.exchange import Exchange, resting
from tests.http.parser import Parser
from tests.http.payloads import EVERY_BYTE, ODD
from tests.http.reader import Reader, path_of
from tests.http.server import LocalServer, with_our_own

from tailrace.opening import open_backend
from tailrace.records import DurableStreamRecord
from tailrace.server import Application, ServerSettings
from tailrace.sse.wire import HEARTBEAT
from tailrace.tokens import KeyRing

PAYLOADS = ODD + EVERY_BYTE
LIVE = path_of("live", start="tail")


def _play(scene: Callable[[Application], Awaitable[None]], **settings: float) -> None:
    async def play() -> None:
        backend, options = open_backend("memory://", {})
        application = Application(backend, KeyRing.new(), settings=ServerSettings(**settings), options=options)
        try:
            # Of a topic that is not there yet no two places are known to be equal.
            await application.service.topic("live").append(b"before")
            await scene(application)
        finally:
            await application.close()

    asyncio.run(play())


def _payloads(exchange: Exchange) -> list[bytes]:
    events = [event for body in exchange.bodies for event in Parser().feed(body)]
    return [event.payload for event in events if event.type != "end"]


def test_what_is_taken_there_and_then_is_sent_by_nobody() -> None:
    async def scene(application: Application) -> None:
        topic = application.service.topic("live")
        pairs = [await resting(application, LIVE, lambda: True) for _ in range(3)]
        for number in range(5):
            await topic.append(b"%d" % number)
            for exchange, _ in pairs:
                await exchange.until(lambda seen, count=number + 1: len(_payloads(seen)) == count)  # type: ignore[misc]
        await topic.seal()
        for exchange, running in pairs:
            await running
            assert _payloads(exchange) == [b"0", b"1", b"2", b"3", b"4"]
            # All but the first, which says where it is, and the end.
            assert exchange.offered == len(exchange.bodies) - 2

    _play(scene)


def test_what_is_not_taken_is_sent_and_what_comes_later_comes_after_it() -> None:
    async def scene(application: Application) -> None:
        topic = application.service.topic("live")
        asked = 0

        def takes() -> bool:
            nonlocal asked
            asked += 1
            return asked % 3 == 0

        exchange, running = await resting(application, LIVE, takes)
        for number in range(30):
            await topic.append(b"%d" % number)
            await exchange.until(lambda seen, count=number + 1: len(_payloads(seen)) == count)  # type: ignore[misc]
        await topic.seal()
        await running
        assert _payloads(exchange) == [b"%d" % number for number in range(30)]
        assert 0 < exchange.offered < 30

    _play(scene)


def test_a_heartbeat_is_taken_there_and_then_or_sent() -> None:
    async def scene(application: Application) -> None:
        for taken in (True, False):
            exchange, running = await resting(application, LIVE, lambda taken=taken: taken)  # type: ignore[misc]
            await exchange.until(lambda seen: seen.bodies.count(HEARTBEAT) == 3)
            assert exchange.bodies[1:] == [HEARTBEAT] * 3
            assert exchange.offered == (3 if taken else 0)
            exchange.vanish()
            await running

    _play(scene, heartbeat=0.1)


def test_who_resumes_after_events_that_were_taken_gets_the_next_one() -> None:
    async def scene(application: Application) -> None:
        topic = application.service.topic("live")
        exchange, running = await resting(application, LIVE, lambda: True)
        await topic.append(b"1")
        await exchange.until(lambda seen: len(_payloads(seen)) == 1)
        application.drain()
        await running
        # The last one says where it is: after the record that no task of its has written.
        assert exchange.bodies[-1].startswith(b"retry:")
        await topic.append(b"2")
        opened = application.service.tokens("").open("live", exchange.parser.last_id)
        async with await topic.subscribe_from_cursor(opened.cursor) as subscription:
            got = await subscription.receive(20.0)
        assert isinstance(got, DurableStreamRecord)
        assert got.payload == b"2"

    _play(scene)


def test_any_payload_through_our_own_server(serve: Callable[..., LocalServer]) -> None:
    server = serve(run=with_our_own)
    topic = server.streams.topic("odd")
    with Reader(server.port, path_of("odd", start="tail")) as reader:
        reader.until(lambda seen: bool(seen.last_id))
        for payload in PAYLOADS:
            topic.append(payload)
        topic.seal()
        reader.to_end()
        assert tuple(reader.payloads) == PAYLOADS


def test_a_client_that_takes_nothing_for_a_while_gets_everything(serve: Callable[..., LocalServer]) -> None:
    server = serve(run=with_our_own)
    topic = server.streams.topic("stalled")
    payloads = [bytes([65 + number % 26]) * 100_000 for number in range(120)]
    with Reader(server.port, path_of("stalled", start="tail")) as stalled:
        stalled.until(lambda seen: bool(seen.last_id))
        with Reader(server.port, path_of("stalled", start="tail")) as fast:
            fast.until(lambda seen: bool(seen.last_id))
            for number, payload in enumerate(payloads, 1):
                topic.append(payload)
                fast.until_records(number)
        topic.seal()
        stalled.to_end()
        assert stalled.payloads == payloads


def test_a_request_that_waits_behind_a_stream_is_no_part_of_it(serve: Callable[..., LocalServer]) -> None:
    server = serve(run=with_our_own)
    topic = server.streams.topic("before")
    with Reader(server.port, path_of("before", start="tail")) as reader:
        reader.until(lambda seen: bool(seen.last_id))
        reader.socket.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        for number in range(3):
            topic.append(b"%d" % number)
            assert reader.until_records(number + 1)[-1] == b"%d" % number
        topic.seal()
        received = b""
        while b"\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n" not in received:
            more = reader.socket.recv(65536)
            assert more, received
            received += more
