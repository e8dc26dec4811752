"""A real server for tests: what ``tailrace serve`` runs, in a thread of this process."""

import asyncio
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from tailrace.server import Application, ServerSettings
from tailrace.server.configuration import Access, build
from tailrace.server.listening import listen
from tailrace.server.process import configured
from tailrace.tokens import KeyRing

PATIENCE = 20.0


def listener() -> socket.socket:
    """Return a socket that is bound to a port below those that the system gives to clients."""
    taken: OSError | None = None
    for _ in range(100):
        try:
            return listen("127.0.0.1", random.randrange(18_000, 32_000))
        except OSError as refused:
            taken = refused
    raise AssertionError("none of a hundred ports can be listened on") from taken


class Server(uvicorn.Server):
    """One that tells its loop."""

    loop: asyncio.AbstractEventLoop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)


@dataclass
class Served:
    """A server that runs."""

    application: Application
    port: int
    ring: KeyRing
    server: "Server"

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        """Return a connection, for bytes that no client would send."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def drain(self) -> None:
        """End what is streamed, as a signal does."""

        async def drain() -> None:
            self.application.drain()

        asyncio.run_coroutine_threadsafe(drain(), self.server.loop).result(PATIENCE)

    def ask(self, request: bytes) -> bytes:
        """Send bytes and return everything that comes back until the server closes."""
        with self.connect() as connection:
            try:
                connection.sendall(request)
            except ConnectionError:
                return b""
            return drained(connection)


def drained(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes, also if it is rude about it."""
    parts = []
    while True:
        try:
            part = connection.recv(65536)
        except ConnectionError:
            part = b""
        if not part:
            return b"".join(parts)
        parts.append(part)


@contextmanager
def served(
    store: str = "memory://", access: Access | None = None, *, settings: ServerSettings | None = None, **given: Any
) -> Iterator[Served]:
    """Serve a store while a test runs."""
    ring = KeyRing.new()
    bound = listener()
    application, outermost = build(store, ring, access or Access(), settings=settings or ServerSettings(), **given)
    server = Server(configured(outermost, grace=3))
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    try:
        yield Served(application, bound.getsockname()[1], ring, server)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()
