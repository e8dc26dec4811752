"""One connection: requests go out and answers come in, one after the other, each within its deadline.

The protocol is h11's, which does no I/O; the socket is ours. So it is known whether a request was sent whole, an
answer that drips in ends at its deadline, and another thread can hang up. Used by one thread at a time, but for that.
"""

import contextlib
import select
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import h11

from tailrace import native
from tailrace.backends import descriptors
from tailrace.backends.connections import Wire

IDLE_SECONDS = 4.0
"""Seconds after which an idle connection is not used again: common servers close theirs after five, and what is sent at
that moment may or may not be taken."""

OCTETS = ((b"content-type", b"application/octet-stream"),)
"""What a request says about its body, unless it says something else."""

_HEADERS = 64 * 1024
_CHUNK = 256 * 1024
_SLACK = 0.05


class BrokenLineError(Exception):
    """The conversation ended before the answer did.

    Attributes:
        sent: Whether the request was sent whole: a server may have acted on it. One that was not is certainly void.
        timed_out: Whether the other end was silent for too long.
    """

    def __init__(self, message: str, *, sent: bool, timed_out: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.timed_out = timed_out


class Head(NamedTuple):
    """The beginning of an answer."""

    status: int
    headers: dict[bytes, bytes]


class Line(Wire):
    """An open connection.

    Args:
        sock: Connected, with TLS if there is any.
        headers: Of every request.
    """

    def __init__(self, sock: socket.socket, headers: list[tuple[bytes, bytes]]) -> None:
        self._sock = sock
        self._headers = headers
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEADERS)
        self._timeout = -1.0
        self._idle_since = time.monotonic()
        self._sent = False
        self._readable = native.poll()
        self._readable.register(sock.fileno(), select.POLLIN)

    def fileno(self) -> int:
        """Return the socket's descriptor, to wait for."""
        return self._sock.fileno()

    @property
    def clean(self) -> bool:
        """Whether another request may follow on it."""
        # What came after the last answer would be taken for the answer to that one.
        return self._h11.our_state is h11.IDLE and not self._h11.trailing_data[0]

    def stale(self) -> bool:
        """Whether the server has hung up, or is about to."""
        return time.monotonic() - self._idle_since > IDLE_SECONDS or bool(self._readable.poll(0))

    def ask(
        self,
        method: str,
        target: str,
        body: bytes | None,
        deadline: float,
        more: Sequence[tuple[bytes, bytes]] = OCTETS,
    ) -> Head:
        """Send a request and return the beginning of its answer. Blocks.

        Args:
            more: Headers of this one.

        Raises:
            BrokenLineError: There was none.
        """
        headers = [*self._headers, *framed(body, more)]
        self._sent = False
        try:
            self._send(method, target, headers, body or b"", deadline)
        except (OSError, h11.LocalProtocolError) as exc:
            # Refused on the way, perhaps, with an answer that says why.
            with contextlib.suppress(BrokenLineError):
                return self._head(min(deadline, time.monotonic() + 1.0))
            raise BrokenLineError(_said(exc), sent=False, timed_out=isinstance(exc, TimeoutError)) from exc
        return self._head(deadline)

    def body(self, deadline: float) -> Iterator[bytes | bytearray]:
        """Give the rest of the answer, as it arrives. Blocks.

        Raises:
            BrokenLineError: It did not come to its end.
        """
        while True:
            event = self._next(deadline)
            if isinstance(event, h11.Data):
                yield event.data
            elif isinstance(event, h11.EndOfMessage):
                self._ended()
                return

    def arrived(self) -> tuple[bytes, bool]:
        """Return what has arrived of a long answer, without waiting, and whether that was its end.

        Raises:
            BrokenLineError: It was cut off.
        """
        found = bytearray()
        try:
            self._sock.settimeout(0.0)
            self._timeout = 0.0
            while True:
                event = self._h11.next_event()
                if isinstance(event, h11.Data):
                    found += event.data
                elif isinstance(event, h11.EndOfMessage):
                    return bytes(found), True
                elif event is h11.NEED_DATA:
                    try:
                        self._h11.receive_data(self._sock.recv(_CHUNK))
                    except (BlockingIOError, ssl.SSLWantReadError):
                        return bytes(found), False
                else:
                    raise BrokenLineError("the server cut it off", sent=True)
        except (OSError, h11.RemoteProtocolError) as exc:
            raise BrokenLineError(_said(exc), sent=True) from exc

    def close(self) -> None:
        """Close it. Idempotent, never raises."""
        with contextlib.suppress(OSError):
            self._sock.close()

    def hang_up(self) -> None:
        """End the conversation, from any thread: whoever waits here is told, and closes it. Never raises."""
        descriptors.hang_up(self._sock.fileno())

    def disown(self) -> None:
        """In a child: let go of the descriptor, without a word on the connection, which is the parent's."""
        descriptors.disown(self._sock)

    def __del__(self) -> None:
        # One that was idle when its store was closed is only hung up there: nobody has it any more.
        self.close()

    def _send(self, method: str, target: str, headers: list[tuple[bytes, bytes]], body: bytes, deadline: float) -> None:
        head = self._h11.send(h11.Request(method=method, target=target, headers=headers))
        content = self._h11.send(h11.Data(data=body)) if body else b""
        self._h11.send(h11.EndOfMessage())
        self._limit(deadline)
        self._sock.sendall((head or b"") + (content or b""))
        self._sent = True

    def _head(self, deadline: float) -> Head:
        while True:
            event = self._next(deadline)
            if isinstance(event, h11.Response):
                return Head(event.status_code, dict(event.headers))

    def _next(self, deadline: float) -> h11.Event | type[h11.PAUSED]:
        try:
            while True:
                event = self._h11.next_event()
                if event is not h11.NEED_DATA:
                    if isinstance(event, h11.ConnectionClosed):
                        raise BrokenLineError("the server hung up", sent=self._sent)
                    return event  # type: ignore[return-value]
                self._limit(deadline)
                self._h11.receive_data(self._sock.recv(_CHUNK))
        except (OSError, h11.RemoteProtocolError) as exc:
            raise BrokenLineError(_said(exc), sent=self._sent, timed_out=isinstance(exc, TimeoutError)) from exc

    def _ended(self) -> None:
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
            self._idle_since = time.monotonic()

    def _limit(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        # Setting it is a system call, and calls in a row have nearly the same deadline.
        if not left <= self._timeout <= left * (1 + _SLACK):
            self._timeout = left * (1 + _SLACK / 2)
            self._sock.settimeout(self._timeout)


def framed(body: bytes | None, more: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """Give the headers of one request: its own, without those about a body that it has not."""
    for name, value in more:
        if body is not None or name.lower() != b"content-type":
            yield name, value
    if body is not None:
        yield b"content-length", b"%d" % len(body)


def _said(exc: Exception) -> str:
    return "it was silent for too long" if isinstance(exc, TimeoutError) else " ".join(str(exc).split())
