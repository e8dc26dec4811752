"""Somebody else who works on the same store: in another process, or on another handle in this one.

The other process runs ``python -m tailrace.testing.peer`` and is spoken to in lines of JSON.
"""

import json
import os
import subprocess
import sys
from typing import TypeAlias

from tailrace import spi
from tailrace.errors import DurableStreamError
from tailrace.options import EngineOptions
from tailrace.retention import Retention
from tailrace.testing.drivers import Client, SyncDriver

STORE_VARIABLE = "TAILRACE_PEER_STORE"
"""Where the other process finds the store URL: not in its arguments, which everybody can read."""


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

    Attributes:
        process: The process, to be stopped or killed in the middle of something.
    """

    def __init__(self, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tailrace.testing.peer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, STORE_VARIABLE: url},
            text=True,
        )
        self._answer()

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()

    def _ask(self, operation: str, topic: str, argument: Argument) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([operation, topic, argument]) + "\n")
        self.process.stdin.flush()
        self._answer()

    def _answer(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise PeerError("EOFError", f"the other process ended with status {self.process.wait(30)}")
        answer = json.loads(line)
        if answer != "ok":
            raise PeerError(*answer)


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
