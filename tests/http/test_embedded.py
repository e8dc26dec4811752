"""The application inside another one, below a path of its own."""

from collections.abc import Callable

import httpx
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from tests.http.reader import Reader, path_of
from tests.http.server import LocalServer


def test_mounted_below_a_path(serve: Callable[..., LocalServer], client: httpx.Client) -> None:
    async def own(_: object) -> PlainTextResponse:
        return PlainTextResponse("the host's")

    server = serve(around=lambda streams: Starlette(routes=[Route("/v1", own), Mount("/streams/here", streams)]))
    base = f"{server.url}/streams/here/v1/topics"
    assert client.get(f"{server.url}/v1").text == "the host's"
    for name, segment in (("plain", "plain"), ("a/b", "a%2Fb"), ("é ?#", "%C3%A9%20%3F%23")):
        assert client.post(f"{base}/{segment}/records", content=b"x").status_code == 204
        with Reader(server.port, "/streams/here" + path_of(name, start="beginning")) as reader:
            assert reader.until_records(1) == [b"x"]
        assert client.get(f"{base}/{segment}").json()["topic"] == name
