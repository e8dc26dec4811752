"""S21: no event is held back, by whatever compresses or buffers on the way."""

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from statistics import median

import pytest
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from tests.http.reader import Reader, path_of
from tests.http.server import LocalServer

from tailrace.testing.servers.nginx import Nginx
from tailrace.testing.servers.waiting import until

COMPRESSING = ("gzip on", "gzip_types *", "gzip_min_length 0", "gzip_proxied any", "gzip_http_version 1.0")


async def _hand_on(request: object, call_next: Callable[..., object]) -> object:
    return await call_next(request)  # type: ignore[misc]


WAYS = {
    "direct": lambda serve: (serve(), nullcontext()),
    "starlette gzip": lambda serve: (
        serve(around=lambda application: GZipMiddleware(application, minimum_size=0)),
        nullcontext(),
    ),
    "starlette base middleware": lambda serve: (
        serve(around=lambda application: BaseHTTPMiddleware(application, dispatch=_hand_on)),
        nullcontext(),
    ),
    "nginx": lambda serve: _behind(serve(), Nginx),
    "nginx gzip": lambda serve: _behind(serve(), lambda ports: Nginx(ports, settings=COMPRESSING)),
    "nginx and starlette gzip": lambda serve: _behind(
        serve(around=lambda application: GZipMiddleware(application, minimum_size=0)),
        lambda ports: Nginx(ports, settings=COMPRESSING),
    ),
}


def _behind(server: LocalServer, proxy: Callable[[list[int]], Nginx]) -> tuple[LocalServer, Nginx]:
    return server, proxy([server.port])


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, serve: Callable[..., LocalServer]) -> Iterator[tuple[LocalServer, int]]:
    server, proxy = WAYS[request.param](serve)
    with proxy as started:
        yield server, server.port if started is None else started.port


def test_each_event_is_there_before_the_next_one_is_made(way: tuple[LocalServer, int]) -> None:
    server, port = way
    topic = server.streams.topic("slowly")
    waits = []
    with Reader(port, path_of("slowly", start="tail"), headers={"Accept-Encoding": "gzip, br"}) as reader:
        reader.until(lambda seen: bool(seen.last_id))
        for number in range(6):
            begun = time.monotonic()
            topic.append(b"an event of 20 byte" + b"%d" % number)
            # What is held back comes when more does, or at the end: never, here.
            reader.until_records(number + 1)
            waits.append(time.monotonic() - begun)
        assert median(waits) < 1
        reader.until(lambda seen: seen.parser.comments > 0)

    assert reader.response.headers.get("content-encoding", "identity") == "identity"
    assert reader.payloads == [b"an event of 20 byte%d" % number for number in range(6)]


def test_the_server_learns_through_a_proxy_that_a_client_has_gone(way: tuple[LocalServer, int]) -> None:
    server, port = way
    with Reader(port, path_of("gone", start="tail")) as reader:
        reader.until(lambda seen: bool(seen.last_id))
        reader.reset()

    until(lambda: server.call(lambda: server.application.service.live.count) == 0, "the server lets go of it")
