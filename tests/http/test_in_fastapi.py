"""Event streams in a FastAPI application: the same as those of the server, and the application decides who reads."""

from collections.abc import Callable
from typing import Annotated

import fastapi
import httpx
import pytest
from fastapi import FastAPI, Header, HTTPException
from starlette.background import BackgroundTask
from starlette.middleware.gzip import GZipMiddleware
from tests.http.reader import Reader
from tests.http.server import LocalServer

from tailrace import InvalidArgumentError, InvalidTokenError, InvalidTypeError
from tailrace.integrations.asgi import EventStreams
from tailrace.server import Application
from tailrace.sse import StreamSettings
from tailrace.testing.servers.waiting import until
from tailrace.tokens import KeyRing, TokenKind, Tokens

RING = KeyRing.new()
TENANTS = {name: Tokens(RING, audience="tests", tenant=name) for name in ("acme", "globex")}


class Shop:
    """An application of somebody's."""

    def __init__(self, application: Application) -> None:
        self.web = FastAPI()
        self.web.add_middleware(GZipMiddleware, minimum_size=0)
        self.events = EventStreams(StreamSettings(heartbeat=0.5, retry=0.2, max_streams_each=2))
        self.afterwards: list[str] = []

        @self.web.api_route("/orders/{order}/events", methods=["GET", "HEAD"])
        async def order_events(
            request: fastapi.Request,
            order: str,
            x_user: Annotated[str, Header()] = "acme",
            start: str = "tail",
            cursor: str | None = None,
        ) -> fastapi.Response:
            topic = application.service.topic(f"order:{order}")
            try:
                response = self.events.response(
                    request, topic, TENANTS[x_user], start=start, cursor=cursor, whose=x_user
                )
            except (InvalidTokenError, InvalidArgumentError):
                raise HTTPException(400) from None
            response.background = BackgroundTask(self.afterwards.append, order)
            return response


@pytest.fixture
def shop(serve: Callable[..., LocalServer]) -> tuple[LocalServer, Shop]:
    made: list[Shop] = []

    def around(application: Application) -> FastAPI:
        made.append(Shop(application))
        return made[0].web

    server = serve(around=around)
    return server, made[0]


def test_a_stream_goes_on_after_the_id_that_was_seen_last(shop: tuple[LocalServer, Shop]) -> None:
    server, _ = shop
    topic = server.streams.topic("order:1")
    topic.append(b"a")
    with Reader(server.port, "/orders/1/events?start=beginning") as reader:
        assert reader.until_records(1) == [b"a"]
    topic.append(b"b")
    with Reader(server.port, "/orders/1/events?start=beginning", reader.last_id) as reader:
        assert reader.until_records(1) == [b"b"]
        topic.append(b"\r")
        assert reader.until_records(2) == [b"b", b"\r"]


def test_a_compressing_middleware_does_not_hold_events_back(shop: tuple[LocalServer, Shop]) -> None:
    server, _ = shop
    with Reader(server.port, "/orders/1/events", headers={"Accept-Encoding": "gzip"}) as reader:
        reader.until(lambda seen: bool(seen.last_id))
        for number in range(3):
            server.streams.topic("order:1").append(b"%d" % number)
            reader.until_records(number + 1)


def test_the_end_is_told_and_who_comes_back_is_sent_away_for_good(shop: tuple[LocalServer, Shop]) -> None:
    server, application = shop
    server.streams.topic("order:1").append(b"a")
    server.streams.topic("order:1").seal(error="cancelled")
    with Reader(server.port, "/orders/1/events?start=beginning") as reader:
        reader.to_end()
    assert [event.type for event in reader.events] == ["message", "end"]
    with Reader(server.port, "/orders/1/events?start=beginning", reader.last_id) as reader:
        reader.to_end()
    assert reader.response.status == 204
    # An application goes on for a moment after its client has everything.
    until(lambda: application.afterwards == ["1", "1"], "what comes after both responses is done")


def test_tokens_of_others_are_refused_by_the_application(shop: tuple[LocalServer, Shop]) -> None:
    server, _ = shop
    token = TENANTS["globex"].seal("order:1", server.streams.topic("order:1").checkpoint())
    url = f"{server.url}/orders/1/events"
    assert httpx.get(url, params={"cursor": token}).status_code == 400
    assert httpx.get(url, params={"cursor": "nonsense"}).status_code == 400
    assert httpx.get(url, params={"start": "middle"}).status_code == 400
    last = TENANTS["globex"].seal("order:1", server.streams.topic("order:1").checkpoint(), kind=TokenKind.END)
    assert httpx.get(url, params={"cursor": last}, headers={"x-user": "globex"}).status_code == 204


def test_head_is_answered_and_leaves_the_connection_to_the_next_request(shop: tuple[LocalServer, Shop]) -> None:
    server, application = shop
    last = TENANTS["acme"].seal("order:1", server.streams.topic("order:1").checkpoint(), kind=TokenKind.END)
    with httpx.Client(base_url=server.url, timeout=20) as client:
        for cursor, status in ((None, 200), (last, 204)):
            answer = client.head("/orders/1/events", params={} if cursor is None else {"cursor": cursor})
            assert answer.status_code == status
            # On the same connection.
            assert client.get("/orders/1/events", params={"start": "middle"}).status_code == 400
    assert application.events.count == 0


def test_bounds_hold_for_each_reader_by_name(shop: tuple[LocalServer, Shop]) -> None:
    server, application = shop
    with Reader(server.port, "/orders/1/events") as first, Reader(server.port, "/orders/2/events") as second:
        for reader in (first, second):
            reader.until(lambda seen: bool(seen.last_id))
        assert application.events.count == 2
        with Reader(server.port, "/orders/3/events") as third:
            third.to_end()
        assert (third.response.status, third.last_id, third.parser.retry is None) == (200, "", False)
        with Reader(server.port, "/orders/3/events", headers={"x-user": "globex"}) as other:
            other.until(lambda seen: bool(seen.last_id))


def test_draining_ends_every_stream_resumably(shop: tuple[LocalServer, Shop]) -> None:
    server, application = shop
    with Reader(server.port, "/orders/1/events") as reader:
        reader.until(lambda seen: bool(seen.last_id))
        server.call(application.events.drain)
        reader.to_end()
    assert reader.parser.blocks[-1] == ("retry", "id")
    until(lambda: application.events.count == 0, "the streams are over")


def test_a_topic_of_the_blocking_client_is_refused_in_one_sentence(server: LocalServer) -> None:
    request = fastapi.Request({"type": "http", "headers": []})
    with pytest.raises(InvalidTypeError, match=r"must be one of tailrace\.aio"):
        EventStreams().response(request, server.streams.topic("t"), TENANTS["acme"])  # type: ignore[arg-type]
