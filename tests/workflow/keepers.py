"""A process that serves appends to others over a socket, to be killed under them."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from tailrace import spi
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import EngineOptions, StoreOptions, parse_url
from tailrace.testing.servers.waiting import until
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import Appended, NewItem, StreamRef

PATIENCE = 120.0
"""Seconds for an append, with all that goes wrong."""

TOP = Path(__file__).parents[2]


class Keeper:
    """The process, from outside. Started and killed any number of times; not thread-safe, but for ``append``."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._address = str(folder / "keeper")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; return once it listens."""
        Path(self._address).unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.workflow.keepers", self._url, self._address]
        self._process = subprocess.Popen(command, cwd=TOP)
        until(self._listens, "the keeper listens", timeout=60)

    def kill(self) -> None:
        """Kill it, whatever it is doing."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the keeper has ended"
        Client(self._address).close()
        return True

    def line(self) -> "Line":
        """Return a connection of one producer."""
        return Line(self._address)


class Line:
    """Asks again until it is answered. For one thread."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._connection: Connection | None = None
        self.asked_again = 0

    def append(self, stream: StreamRef, items: Sequence[NewItem]) -> Appended:
        """Append; return once it is known what came of it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < deadline, f"not answered, though asked {self.asked_again} times again"
            try:
                if self._connection is None:
                    self._connection = Client(self._address)
                self._connection.send((stream, items))
                assert self._connection.poll(PATIENCE), "the keeper says nothing"
                answer: Any = self._connection.recv()
            except (OSError, EOFError):
                self._connection = None
                self.asked_again += 1
                threading.Event().wait(0.01)
                continue
            if isinstance(answer, DurableStreamUnavailableError):
                self.asked_again += 1
                threading.Event().wait(0.01)
                continue
            if isinstance(answer, Exception):
                raise answer
            appended: Appended = answer
            return appended


def _serve(service: EmbeddedService, connection: Connection) -> None:
    while True:
        try:
            stream, items = connection.recv()
        except (EOFError, OSError):
            return
        try:
            connection.send(service.append(stream, items))
        except Exception as exc:  # noqa: BLE001 - raised over there
            connection.send(exc)


def _main(url: str, address: str) -> None:
    store = spi.open_store(parse_url(url), StoreOptions())
    service = EmbeddedService(store, options=EngineOptions(append_timeout=5.0))
    with Listener(address) as listener:
        while True:
            try:
                connection = listener.accept()
            except (OSError, EOFError):
                continue
            threading.Thread(target=_serve, args=(service, connection), daemon=True).start()


if __name__ == "__main__":
    _main(*sys.argv[1:])
