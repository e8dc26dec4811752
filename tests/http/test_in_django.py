"""Event streams in a Django project: under gunicorn with gevent and with threads, and under uvicorn."""

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from tests.http.reader import Reader
from tests.http.resuming import goes_on_after_what_was_seen
from typing_extensions import override

import tailrace
from tailrace.testing.servers.node import ServerNode
from tailrace.testing.servers.waiting import listens
from tailrace.tokens import KeyRing

TOP = Path(__file__).parents[2]


class Django(ServerNode):
    """One process with the project of ``django_app``."""

    def __init__(self, kind: str, store: str, home: Path) -> None:
        super().__init__("django")
        self._kind = kind
        self._settings = [
            f"HOME={home}",
            f"TEST_STORE={store}",
            f"TEST_COLOUR={'asgi' if kind == 'uvicorn' else 'wsgi'}",
            f"TAILRACE_TOKEN_KEYS={KeyRing.new().text.splitlines()[1]}",
        ]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @override
    def _command(self, *options: str) -> Sequence[str]:
        if self._kind == "uvicorn":
            run = ["uvicorn", "--app-dir", str(TOP), "--port", str(self.port), "tests.http.django_app:asgi_application"]
        else:
            threads = ["--threads", "40"] if self._kind == "gthread" else []
            run = ["gunicorn", "-k", self._kind, *threads, "-b", f"127.0.0.1:{self.port}", "--chdir", str(TOP)]
            run.append("tests.http.django_app:wsgi_application")
        return ["/usr/bin/env", *self._settings, sys.executable, "-m", *run]

    @override
    def _serves(self) -> bool:
        return listens(self.address)


@pytest.fixture(params=["gevent", pytest.param("gthread", marks=pytest.mark.long), "uvicorn"])
def server(request: pytest.FixtureRequest, store: str, tmp_path: Path) -> Iterator[Django]:
    with Django(request.param, store, tmp_path) as server:
        yield server


def test_a_stream_goes_on_after_the_id_that_was_seen_last(server: Django, store: str) -> None:
    reader = goes_on_after_what_was_seen(server.port, store)
    assert reader.response.headers["content-type"] == "text/event-stream; charset=utf-8"


@pytest.mark.parametrize("server", ["uvicorn"], indirect=True)
def test_a_server_that_is_told_to_end_sends_its_clients_away(server: Django, store: str) -> None:
    with Reader(server.port, "/orders/1/events") as reader:
        reader.until(lambda seen: bool(seen.last_id))
        server.stop()
        reader.to_end()
    assert "Traceback" not in server.log.read_text()


@pytest.mark.parametrize("clients", [20, pytest.param(400, marks=pytest.mark.long)])
def test_s20_clients_that_vanish_leave_nothing_behind(server: Django, store: str, clients: int) -> None:
    at_once = 20
    with tailrace.connect(store) as streams:
        for _ in range(clients // at_once):
            with contextlib.ExitStack() as stack:
                readers = [
                    stack.enter_context(Reader(server.port, f"/orders/{number}/events")) for number in range(at_once)
                ]
                for number, reader in enumerate(readers):
                    if number % 2:
                        reader.until(lambda seen: bool(seen.last_id))
                        streams.topic(f"order:{number}").append(b"x" * 1000)
                    reader.reset()
        deadline = time.monotonic() + 30
        while True:
            now = httpx.get(f"{server.url}/open", timeout=30).json()
            if now["streams"] == now["subscriptions"] == 0:
                return
            assert time.monotonic() < deadline, now
            time.sleep(0.1)
