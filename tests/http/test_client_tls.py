"""Clients over TLS: whom they trust, and what does not fit is one sentence."""

import asyncio
import functools
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import uvicorn
from tests.http.server import ASGI, LocalServer

import tailrace
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.server import listening
from tailrace.testing.leaks import no_leaks
from tailrace.testing.reading import numbered, payloads, read_all, take
from tailrace.testing.servers.certificates import Certificates


async def with_tls(certificates: Certificates, application: ASGI, port: int, ended: asyncio.Event) -> None:
    config = uvicorn.Config(
        application,
        log_config=None,
        lifespan="on",
        timeout_graceful_shutdown=5,
        ssl_certfile=str(certificates.certificate),
        ssl_keyfile=str(certificates.key),
    )
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve([listening.listen("127.0.0.1", port)]))
    await ended.wait()
    server.should_exit = True
    await serving


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates.make(tmp_path)


@pytest.fixture
def url(serve: Callable[..., LocalServer], certificates: Certificates) -> str:
    server = serve("memory://", run=functools.partial(with_tls, certificates))
    return server.url.replace("http://127.0.0.1", "https://localhost")


def test_a_server_is_trusted_by_the_authority_that_the_url_names(url: str, certificates: Certificates) -> None:
    url = f"{url}?ca={certificates.authority}"
    with tailrace.connect(url) as streams, streams.topic("warm").subscribe_from_tail() as subscription:
        # What the server starts for its first reader is not the client's.
        streams.topic("warm").append(b"x")
        take(subscription, 1)
    with no_leaks(pooled_files=20), tailrace.connect(url) as streams:
        topic = streams.topic("t")
        topic.append_many([*numbered(3), b"x" * 2**20])
        assert read_all(topic.subscribe_from_beginning(), 4)[:3] == numbered(3)
        with topic.subscribe_from_tail() as subscription:
            assert subscription.receive(timeout=0.05) is None
            for payload in numbered(20):
                topic.append(payload)
            assert payloads(take(subscription, 20)) == numbered(20)


def test_a_server_that_nobody_vouches_for_is_refused(url: str) -> None:
    with no_leaks(pooled_files=4), pytest.raises(StoreUnusableError, match="is not trusted"):
        tailrace.connect(url)


def test_a_certificate_for_another_name_is_refused(
    url: str, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = socket.create_connection
    monkeypatch.setattr(
        socket, "create_connection", lambda address, timeout: connect(("127.0.0.1", address[1]), timeout=timeout)
    )
    with pytest.raises(StoreUnusableError, match="is not trusted"):
        tailrace.connect(f"{url.replace('localhost', 'streams.example')}?ca={certificates.authority}")


def test_tls_to_a_server_without_it_is_told(serve: Callable[..., LocalServer]) -> None:
    url = serve("memory://").url.replace("http://", "https://")
    with no_leaks(pooled_files=4), pytest.raises(StoreUnusableError, match="does not speak TLS"):
        tailrace.connect(url)


def test_a_server_that_wants_tls_is_told_from_one_that_works(url: str) -> None:
    with no_leaks(pooled_files=4), pytest.raises(DurableStreamUnavailableError):
        tailrace.connect(url.replace("https://", "http://"))
