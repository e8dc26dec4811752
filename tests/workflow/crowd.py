"""Other processes that do what a test asks of them, one thing at a time each."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

from tailrace import spi
from tailrace.options import EngineOptions, StoreOptions, parse_url
from tailrace.workflow.embedded import EmbeddedService

PATIENCE = 60.0
"""Seconds before a case gives up on another process; nothing that passes ever waits so long."""


class There:
    """What a deed finds in its process.

    Attributes:
        tell: Says something to the test.
        heard: Waits for the test's word.
    """

    def __init__(self, pipe: Connection) -> None:
        self._services: dict[str, EmbeddedService] = {}
        self.tell: Callable[[object], None] = lambda word: pipe.send(("said", word))
        self.heard: Callable[[], object] = pipe.recv

    def service(self, url: str) -> EmbeddedService:
        """Return the service that is kept for a database."""
        if url not in self._services:
            store = spi.open_store(parse_url(url), StoreOptions())
            self._services[url] = EmbeddedService(store, options=EngineOptions(append_timeout=30.0))
        return self._services[url]


class Member:
    """One process. Not thread-safe."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_be, args=(there,), daemon=True)
        self._process.start()
        there.close()

    def begin(self, deed: Callable[..., object], *args: object) -> None:
        """Have ``deed(there, *args)`` done."""
        self._here.send((deed, args))

    def said(self) -> Any:
        """Return the next thing that the deed tells."""
        kind, value = self._next()
        assert kind == "said", value
        return value

    def go_on(self) -> None:
        """Give it the word that it waits for."""
        self._here.send("go on")

    def result(self) -> Any:
        """Return or raise what became of the deed."""
        kind, value = self._next()
        if kind == "raised":
            raise value
        assert kind == "done", value
        return value

    def quiet(self) -> bool:
        """Return whether it has said nothing that was not heard yet."""
        return not self._here.poll(0)

    def kill(self) -> None:
        """Kill it, wherever it is."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.join(PATIENCE)

    def leave(self) -> None:
        """Let it end."""
        self._here.close()
        self._process.join(PATIENCE)

    @property
    def alive(self) -> bool:
        """Whether it was not killed."""
        return self._process.is_alive()

    def _next(self) -> tuple[str, Any]:
        assert self._here.poll(PATIENCE), "the other process says nothing"
        found: tuple[str, Any] = self._here.recv()
        return found


class Crowd:
    """A context manager; not thread-safe."""

    def __init__(self) -> None:
        self._members: list[Member] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self._members:
            member.leave()

    def members(self, count: int) -> list[Member]:
        """Return so many processes."""
        self._members = [member for member in self._members if member.alive]
        while len(self._members) < count:
            self._members.append(Member())
        return self._members[:count]

    @contextmanager
    def one_of_its_own(self) -> Iterator[Member]:
        """Lend a process that is nobody else's: it may be killed, or spoilt."""
        member = Member()
        yield member
        member.leave()


def _be(pipe: Connection) -> None:
    there = There(pipe)
    while True:
        try:
            deed, args = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(("done", deed(there, *args)))
        except Exception as exc:  # noqa: BLE001 - raised over there
            pipe.send(("raised", exc))
