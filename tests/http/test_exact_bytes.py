"""Any payload comes out as it went in: through httpx, curl, and the EventSource of a browser."""

import base64
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from tests.http.browser import Browser
from tests.http.parser import events_of
from tests.http.payloads import EVERY_BYTE, ODD
from tests.http.reader import path_of
from tests.http.server import LocalServer, with_cors

PAYLOADS = ODD + EVERY_BYTE

IN_BROWSER = """
const bytes = text => btoa(Array.from(new TextEncoder().encode(text), b => String.fromCharCode(b)).join(""));
const seen = [];
return await new Promise(resolve => {
  const source = new EventSource(url);
  source.onmessage = event => seen.push(["message", bytes(event.data)]);
  source.addEventListener("base64", event => seen.push(["base64", event.data]));
  source.addEventListener("end", event => { source.close(); resolve(seen); });
});
"""


@pytest.fixture
def full(server: LocalServer) -> LocalServer:
    """A server with a topic that holds everything, and has ended."""
    topic = server.streams.topic("odd/topic \u00e9?")
    topic.append_many(PAYLOADS)
    topic.seal()
    return server


def _url(server: LocalServer, **query: str) -> str:
    return server.url + path_of("odd/topic \u00e9?", start="beginning", **query)


def test_through_httpx(full: LocalServer) -> None:
    body = b""
    with httpx.stream("GET", _url(full), timeout=30) as response:
        for part in response.iter_bytes():
            body += part

    assert tuple(event.payload for event in events_of(body)[:-1]) == PAYLOADS


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_through_curl(full: LocalServer) -> None:
    # Compressed if the server likes.
    done = subprocess.run(
        ["curl", "-sSN", "--compressed", "--max-time", "30", _url(full)], capture_output=True, check=True
    )

    assert tuple(event.payload for event in events_of(done.stdout)[:-1]) == PAYLOADS


def test_all_of_it_as_base64(full: LocalServer) -> None:
    body = httpx.get(_url(full, encoding="base64"), timeout=30).content

    *records, _ = events_of(body)
    assert {event.type for event in records} == {"message"}
    assert tuple(base64.b64decode(event.data, validate=True) for event in records) == PAYLOADS


def test_what_is_text_goes_as_text(full: LocalServer) -> None:
    *records, end = events_of(httpx.get(_url(full), timeout=30).content)

    for payload, event in zip(PAYLOADS, records, strict=True):
        try:
            is_text = b"\r" not in payload and payload.decode() is not None
        except UnicodeDecodeError:
            is_text = False
        assert event.type == ("message" if is_text else "base64"), payload[:20]
    assert end.type == "end"


@pytest.mark.parametrize("encoding", ["text", "base64"])
def test_through_a_browser(browser: Browser, serve: Callable[..., LocalServer], encoding: str) -> None:
    server = serve(around=with_cors)
    topic = server.streams.topic("odd/topic \u00e9?")
    topic.append_many(PAYLOADS)
    topic.seal()

    seen = browser.run(IN_BROWSER, url=_url(server, encoding=encoding))

    if encoding == "base64":
        # Every record is, so the type does not say so.
        payloads = [base64.b64decode(base64.b64decode(data)) for _, data in seen]
        assert {kind for kind, _ in seen} == {"message"}
    else:
        payloads = [base64.b64decode(data) for _, data in seen]
        assert {kind for kind, _ in seen} == {"message", "base64"}
    assert tuple(payloads) == PAYLOADS


def test_records_that_were_posted(server: LocalServer, tmp_path: Path) -> None:
    url = f"{server.url}/v1/topics/posted"
    with httpx.Client(timeout=30) as client:
        for payload in PAYLOADS:
            assert client.post(f"{url}/records", content=payload).status_code == 204
        client.post(f"{url}/seal")
        body = client.get(f"{url}/events", params={"start": "beginning"}).content

    assert tuple(event.payload for event in events_of(body)[:-1]) == PAYLOADS
