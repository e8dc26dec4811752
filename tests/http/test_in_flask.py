"""Event streams in a Flask application under gunicorn, with gevent and with threads."""

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


class Gunicorn(ServerNode):
    """gunicorn with one worker."""

    def __init__(self, worker: str, store: str, home: Path) -> None:
        super().__init__("gunicorn")
        self._worker = worker
        self._settings = f"TEST_STORE={store}", f"TAILRACE_TOKEN_KEYS={KeyRing.new().text.splitlines()[1]}"
        self._home = home

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @override
    def _command(self, *options: str) -> Sequence[str]:
        threads = ["--threads", "40"] if self._worker == "gthread" else []
        run = ["-m", "gunicorn", "-k", self._worker, "-b", f"127.0.0.1:{self.port}", "--chdir", str(TOP), *threads]
        # Their home, too: gunicorn keeps a socket there.
        return ["/usr/bin/env", f"HOME={self._home}", *self._settings, sys.executable, *run, "tests.http.flask_app:app"]

    @override
    def _serves(self) -> bool:
        return listens(self.address)


@pytest.fixture(params=["gevent", "gthread"])
def server(request: pytest.FixtureRequest, store: str, tmp_path: Path) -> Iterator[Gunicorn]:
    with Gunicorn(request.param, store, tmp_path) as server:
        yield server


def until_closed(server: Gunicorn, before: dict[str, int], seconds: float = 20.0) -> None:
    """Wait until everything that streams held is given back."""
    deadline = time.monotonic() + seconds
    while True:
        now = httpx.get(f"{server.url}/open", timeout=30).json()
        if now["streams"] == now["subscriptions"] == 0 and now["sockets"] <= before["sockets"]:
            return
        assert time.monotonic() < deadline, (before, now)
        time.sleep(0.1)


def test_a_stream_goes_on_after_the_id_that_was_seen_last(server: Gunicorn, store: str) -> None:
    goes_on_after_what_was_seen(server.port, store)


def test_a_lost_record_is_told_in_an_event(server: Gunicorn, store: str) -> None:
    with tailrace.connect(store) as streams:
        topic = streams.topic("order:1")
        topic.append_many([b"%d" % number for number in range(5)])
        with Reader(server.port, "/orders/1/events?start=beginning") as reader:
            reader.until_records(1)
            first = reader.events[0].id
        streams.maintenance.trim("order:1", tailrace.Retention(max_records=1))
        with Reader(server.port, "/orders/1/events", first) as reader:
            reader.to_end()
        assert [event.type for event in reader.events] == ["gap"]
        assert httpx.get(f"{server.url}/orders/1/events", headers={"last-event-id": reader.last_id}).status_code == 204


@pytest.mark.parametrize("clients", [20, pytest.param(500, marks=pytest.mark.long)])
def test_s20_clients_that_vanish_leave_nothing_behind(server: Gunicorn, store: str, clients: int) -> None:
    before = httpx.get(f"{server.url}/open", timeout=30).json()
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
            until_closed(server, before)
