"""Somebody else who works on the same store: in another process, or on another handle in this one.

The other process runs ``python -m tailrace.testing.peer`` and is spoken to in lines of JSON. It is told the store's URL
in one of them: arguments can be read by everybody.
"""

import json
import subprocess
import sys
from typing import TypeAlias

from tailrace import spi
from tailrace.errors import DurableStreamError
from tailrace.options import EngineOptions
from tailrace.retention import Retention
from tailrace.testing.drivers import Client, SyncDriver
from tailrace.testing.servers.errors import ServerFailedError
from tailrace.testing.servers.waiting import line_of

Argument: TypeAlias = list[str] | str | int | None
"""Payloads in hexadecimal, the seal's error, or how many records to keep."""


class PeerError(AssertionError):
    """The other side answered with an error; ``kind`` is the name of its class."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Peer:
    """What the other side can be asked to do. Each call returns when it is done there."""

    def append(self, topic: str, *payloads: bytes) -> None:
        self._ask("append", topic, [payload.hex() for payload in payloads])

    def seal(self, topic: str, error: str | None = None) -> None:
        self._ask("seal", topic, error)

    def delete(self, topic: str) -> None:
        self._ask("delete", topic, None)

    def trim(self, topic: str, keep: int) -> None:
        self._ask("trim", topic, keep)

    def close(self) -> None:
        """Go away. Blocks until it is gone."""
        raise NotImplementedError

    def _ask(self, operation: str, topic: str, argument: Argument) -> None:
        raise NotImplementedError


class SameProcess(Peer):
    """Another client in this process, for stores that no other process can reach."""

    def __init__(self, backend: spi.Backend) -> None:
        self._client = SyncDriver().connect(backend, EngineOptions())

    def close(self) -> None:
        self._client.close()

    def _ask(self, operation: str, topic: str, argument: Argument) -> None:
        try:
            perform(self._client, operation, topic, argument)
        except DurableStreamError as error:
            raise PeerError(type(error).__name__, str(error)) from error


class OtherProcess(Peer):
    """A client in a process of its own. Not thread-safe.

    To start one takes longer than most cases do, so one process may serve many of them: each opens a client in it, and
    leaves none behind.

    Args:
        url: The store to open; without one, ``open`` is called first.
    """

    def __init__(self, url: str | None = None) -> None:
        self._process = _start()
        if url is not None:
            self.open(url)

    def open(self, url: str) -> None:
        """Open a client on a store."""
        if self._process.poll() is not None:
            # The case in which it died has failed. The next one is not about that.
            self.close()
            self._process = _start()
        self._ask("open", url, None)

    def leave(self) -> None:
        """Close that client; nothing of it stays."""
        self._ask("leave", "", None)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def _ask(self, operation: str, topic: str, argument: Argument) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([operation, topic, argument]) + "\n")
        self._process.stdin.flush()
        self._answer()

    def _answer(self) -> None:
        try:
            line = line_of(self._process)
        except ServerFailedError as silent:
            # The next case has another one.
            self._process.wait(30)
            raise PeerError("TimeoutError", str(silent)) from silent
        if not line:
            raise PeerError("EOFError", f"the other process ended with status {self._process.wait(30)}")
        answer = json.loads(line)
        if answer != "ok":
            raise PeerError(*answer)


def _start() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tailrace.testing.peer"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def perform(client: Client, operation: str, topic: str, argument: Argument) -> None:
    """Do what the other side was asked to do."""
    if operation == "append" and isinstance(argument, list):
        for payload in argument:
            client.topic(topic).append(bytes.fromhex(payload))
    elif operation == "seal" and not isinstance(argument, list | int):
        client.topic(topic).seal(error=argument)
    elif operation == "delete":
        client.maintenance.delete(topic)
    elif operation == "trim" and isinstance(argument, int):
        client.maintenance.trim(topic, Retention(max_records=argument))
    else:
        raise ValueError(operation)
