"""A client of one event stream over a bare socket: it keeps every byte, and is cut off wherever a test wants."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable, Mapping
from typing import Self
from urllib.parse import quote

from tests.http.parser import Event, Parser
from tests.http.response import Response

PATIENCE = 30.0


def path_of(topic: str, **query: str) -> str:
    """Return the path of a topic's events."""
    return f"/v1/topics/{quote(topic, safe='')}/events?" + "&".join(f"{k}={quote(v)}" for k, v in query.items())


class Seen:
    """What a reader has seen, over all of its connections: events, and the records among them. Pure."""

    def __init__(self) -> None:
        self.response = Response()
        self.parser = Parser()
        self.events: list[Event] = []
        self.payloads: list[bytes] = []
        self._parsed = 0

    def take(self, received: bytes) -> None:
        self.response.feed(received)
        for chunk in self.response.chunks[self._parsed :]:
            fresh = self.parser.feed(chunk)
            self.events += fresh
            self.payloads += [event.payload for event in fresh if event.type in ("message", "base64")]
        self._parsed = len(self.response.chunks)

    @property
    def last_id(self) -> str:
        return self.parser.last_id

    @property
    def body(self) -> bytes:
        return self.response.body


def request(path: str, last_id: str | None = None, headers: Mapping[str, str] | None = None) -> bytes:
    """Return a request as a browser makes it."""
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", "Accept: text/event-stream"]
    if last_id is not None:
        lines.append(f"Last-Event-ID: {last_id}")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Reader(Seen):
    """Connected by being made. Not thread-safe."""

    def __init__(
        self, port: int, path: str, last_id: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket.sendall(request(path, last_id, headers))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def until(self, condition: Callable[[Self], bool], timeout: float = PATIENCE) -> Self:
        """Read until it holds.

        Raises:
            TimeoutError: Nothing came for ``timeout`` seconds.
            EOFError: The connection, or the response, ended before.
        """
        self.socket.settimeout(timeout)
        while not condition(self):
            self._more()
        return self

    def until_records(self, count: int) -> list[bytes]:
        """Return the first so many records."""
        return self.until(lambda seen: len(seen.payloads) >= count).payloads[:count]

    def to_end(self) -> Self:
        """Read to the end of the response."""
        return self.until(lambda seen: seen.response.ended)

    def reset(self) -> None:
        """Vanish: what is on its way is answered with a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self) -> None:
        self.socket.close()

    def _more(self) -> None:
        if self.response.ended:
            raise EOFError(f"the response ended: {self.response}")
        received = self.socket.recv(65536)
        if not received:
            raise EOFError(f"the connection ended: {self.response.status} {self.response.body[-200:]!r}")
        self.take(received)


class LiveReader(Seen):
    """A browser, in a task of its own: comes back whenever its connection ends, with the id that it saw last.

    Attributes:
        connections: How many responses it has got the head of.
        finished: Set once it has been told to stay away, as browsers understand that.
        refused: The status that made it give up, where that was not 204.
    """

    def __init__(self, port: int, path: str) -> None:
        super().__init__()
        self._port, self._path = port, path
        self.connections = 0
        self.refused: int | None = None
        self.connected = asyncio.Event()
        self.finished = asyncio.Event()
        self.changed = asyncio.Condition()

    async def run(self) -> None:
        """Read until told to stay away."""
        while not self.finished.is_set():
            with contextlib.suppress(OSError):
                await self._connection()
            self.connected.clear()
            if not self.finished.is_set():
                await asyncio.sleep((self.parser.retry or 1000) / 1000)

    async def _connection(self) -> None:
        incoming, outgoing = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            self.response, self._parsed = Response(), 0
            self.parser = Parser(last_id=self.last_id, retry=self.parser.retry)
            outgoing.write(request(self._path, self.last_id or None))
            while not self.response.ended and (received := await incoming.read(65536)):
                fresh = self.response.status is None
                self.take(received)
                if fresh and self.response.status is not None:
                    self.connections += 1
                    self.connected.set()
                    if self.response.status != 200:
                        self.refused = None if self.response.status == 204 else self.response.status
                        self.finished.set()
                async with self.changed:
                    self.changed.notify_all()
        finally:
            outgoing.close()
