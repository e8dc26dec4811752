"""S19b: a stock EventSource stays away once it has been told the end, and comes back by itself from anything else."""

import time
from collections.abc import Callable

import pytest
from tests.http.browser import Browser
from tests.http.reader import path_of
from tests.http.server import ASGI, LocalServer, Replica, with_cors

from tailrace import Retention
from tailrace.asgi import Receive, Scope, Send
from tailrace.testing.servers.nginx import Nginx
from tailrace.testing.servers.waiting import until

LONG = pytest.mark.long
FLAT = (2.0, pytest.param(10.0, marks=LONG))
"""Seconds in which nothing may be asked. A browser waits 0.2 here, as it was told."""

WATCH = """
// To the event that ends it; then as long as it is told to, because nobody closes the source.
const seen = [];
const source = new EventSource(url);
for (const kind of ["message", "base64", "end", "gap"])
  source.addEventListener(kind, event => seen.push([kind, event.data]));
while (!seen.some(([kind]) => kind === last)) await new Promise(done => setTimeout(done, 20));
await new Promise(done => setTimeout(done, linger * 1000));
const state = source.readyState;
source.close();
return {seen, state};
"""

COLLECT = """
const seen = [];
const source = new EventSource(url);
await new Promise(resolve => {
  source.onmessage = event => { seen.push(event.data); if (event.data === last) resolve(); };
});
source.close();
return seen;
"""

CLOSED = 2


class Counting:
    """Counts requests for events."""

    def __init__(self, application: ASGI) -> None:
        self._application = application
        self.requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/events"):
            self.requests += 1
        await self._application(scope, receive, send)


@pytest.fixture
def counting(serve: Callable[..., LocalServer]) -> tuple[LocalServer, Counting]:
    counters: list[Counting] = []

    def around(application: ASGI) -> ASGI:
        counters.append(Counting(with_cors(application)))
        return counters[0]

    return serve(around=around), counters[0]


@pytest.mark.parametrize("flat", FLAT)
@pytest.mark.parametrize("error", [None, pytest.param("it broke", marks=LONG)])
@pytest.mark.parametrize("live", [pytest.param(False, marks=LONG), True])
def test_after_the_end_it_asks_once_more_and_never_again(
    browser: Browser, counting: tuple[LocalServer, Counting], error: str | None, live: bool, flat: float
) -> None:
    server, counter = counting
    topic = server.streams.topic("over")
    topic.append(b"x")
    watching = None
    if live:
        watching = _begin(browser, server, "over", "end", flat)
        until(lambda: counter.requests == 1, "the browser asks")
    topic.seal(error=error)

    answer = (watching or _begin(browser, server, "over", "end", flat))(60)

    assert [kind for kind, _ in answer["seen"]] == ["message", "end"]
    assert (error or '"kind": "sealed"') in answer["seen"][-1][1]
    # Once for the stream, and once more with the id of its end: that is answered 204.
    assert counter.requests == 2
    assert answer["state"] == CLOSED


@pytest.mark.parametrize("flat", FLAT)
@pytest.mark.parametrize("live", [False, pytest.param(True, marks=LONG)])
def test_after_a_gap_it_asks_once_more_and_never_again(
    browser: Browser, counting: tuple[LocalServer, Counting], live: bool, flat: float
) -> None:
    server, counter = counting
    topic = server.streams.topic("lost")
    topic.append_many([b"1", b"2", b"3"])
    operations = server.application.service.operations
    if live:
        watching = _begin(browser, server, "lost", "gap", flat)
        until(lambda: counter.requests == 1, "the browser asks")
        operations.delete("lost")
        topic.append(b"another life")
    else:
        cursor = server.streams.topic("lost").checkpoint()
        first = server.application.service.tokens("").seal("lost", cursor)
        operations.delete("lost")
        topic.append_many([b"4", b"5"])
        operations.trim("lost", Retention(max_records=1))
        watching = browser.begin(WATCH, url=server.url + path_of("lost", cursor=first), last="gap", linger=flat)

    answer = watching(60)

    assert answer["seen"][-1][0] == "gap"
    assert [kind for kind, _ in answer["seen"]].count("gap") == 1
    assert counter.requests == 2
    assert answer["state"] == CLOSED


def test_a_full_server_is_come_back_to(browser: Browser, serve: Callable[..., LocalServer]) -> None:
    full = serve(around=with_cors, settings={"max_streams": 1, "token_lifetime": 2.0})
    topic = full.streams.topic("crowd")
    topic.append(b"first")
    first = browser.begin(COLLECT, url=full.url + path_of("crowd", start="beginning"), last="last")
    until(lambda: full.call(lambda: full.application.service.live.count) == 1, "the first one is in")
    second = browser.begin(COLLECT, url=full.url + path_of("crowd", start="beginning"), last="last")
    time.sleep(1)
    topic.append(b"last")

    assert first(60) == ["first", "last"]
    assert second(60) == ["first", "last"]


@LONG
def test_a_rolling_restart_loses_nothing(browser: Browser, replica: Callable[..., Replica], store: str) -> None:
    """Two replicas behind nginx, restarted in turn under a browser that knows nothing of it."""
    first, second = replica(), replica()
    location = ("add_header Access-Control-Allow-Origin * always",)
    with Nginx([first.port, second.port], location=location, upstream="max_fails=0") as proxy:
        with LocalServer(store) as writer:
            topic = writer.streams.topic("rolling")
            watching = browser.begin(COLLECT, url=proxy.url + path_of("rolling", start="tail"), last="59")
            time.sleep(1)
            for number in range(60):
                topic.append(b"%d" % number)
                if number in (10, 30):
                    first.restart()
                if number in (20, 40):
                    second.restart()
            seen = watching(60)

    assert seen == [str(number) for number in range(60)][-len(seen) :]
    assert len(seen) >= 50


def _begin(
    browser: Browser, server: LocalServer, topic: str, last: str, flat: float
) -> Callable[[float], dict[str, list[list[str]]]]:
    url = server.url + path_of(topic, start="beginning")
    return browser.begin(WATCH, url=url, last=last, linger=flat)
