"""One connection: the driver connects, authenticates and selects; from then on bytes go out and replies come in.

Below the driver's own reading, because its callbacks and dictionaries cost more than the rest of a call. Used by one
thread at a time.
"""

import select
import ssl
import time
from typing import Any

import hiredis
import redis

from tailrace import native
from tailrace.backends import descriptors
from tailrace.backends.redis import encryption
from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.location import Location
from tailrace.errors import DurableStreamUnavailableError

_NOT_YET = object()
_SLACK = 0.05


class Wire:
    """An open connection."""

    def __init__(self, location: Location, connection: Any) -> None:  # noqa: ANN401 - of a class that the user chose
        self._location = location
        self._connection = connection
        self._sock = connection._sock
        self._timeout = -1.0
        self._reader = hiredis.Reader(notEnoughData=_NOT_YET)
        self._buffer = bytearray(65536)
        self._readable = native.poll()
        self._readable.register(self._sock.fileno(), select.POLLIN)
        self._push = getattr(hiredis, "PushNotification", None) if location.settings["protocol"] == 3 else None

    def fileno(self) -> int:
        """Return the socket's descriptor, to wait for."""
        return int(self._sock.fileno())

    def stale(self) -> bool:
        """Whether the server has hung up (an idle timeout, a restart), or says something that nobody asked for."""
        if not self._readable.poll(0):
            return False
        try:
            # Under TLS it may be a word of the layer below, such as a ticket for the next session.
            return not (isinstance(self._sock, ssl.SSLSocket) and not self._fill_at_once())
        except OSError:
            return True

    def send(self, data: bytes, deadline: float) -> None:
        """Send everything. Blocks."""
        self._limit(deadline)
        self._sock.sendall(data)

    def receive(self, count: int, deadline: float) -> list[Any]:
        """Return so many replies; an error that the server answered is one of them, as an exception. Blocks."""
        replies: list[Any] = []
        gets, push = self._reader.gets, self._push
        while True:
            while (reply := gets()) is not _NOT_YET:
                if push is not None and isinstance(reply, push):
                    continue
                replies.append(reply)
                if len(replies) == count:
                    return replies
            self._limit(deadline)
            self._fill()

    def pending(self) -> list[Any]:
        """Return every message that has arrived; maybe none, although the socket is said to be readable."""
        self._fill_at_once()
        messages: list[Any] = []
        while (message := self._reader.gets()) is not _NOT_YET:
            messages.append(message)
        return messages

    def close(self) -> None:
        """Close it. Idempotent, never raises."""
        self._connection.disconnect()

    def hang_up(self) -> None:
        """End the conversation, from any thread: whoever waits here is told, and closes it. Never raises."""
        descriptors.hang_up(self._sock.fileno())

    def disown(self) -> None:
        """In a child: let go of the descriptor, without a word on the connection, which is the parent's."""
        descriptors.disown(self._sock)

    def _limit(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        # Setting it is a system call, and calls in a row have nearly the same deadline.
        if not left <= self._timeout <= left * (1 + _SLACK):
            self._timeout = left * (1 + _SLACK / 2)
            self._sock.settimeout(self._timeout)

    def _fill_at_once(self) -> bool:
        """Take what has arrived, without waiting; return whether anything has that is for us."""
        if self._timeout != 0.0:
            self._timeout = 0.0
            self._sock.settimeout(0.0)
        try:
            self._fill()
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        return True

    def _fill(self) -> None:
        got = self._sock.recv_into(self._buffer)
        if not got:
            raise ConnectionError("the server closed the connection")
        self._reader.feed(self._buffer, 0, got)  # type: ignore[arg-type]


def dial(location: Location, timeout: float) -> Wire:
    """Connect.

    Raises:
        StoreUnusableError: Not with these settings.
        DurableStreamUnavailableError: The server is away.
    """
    try:
        connection = location.connection_class(**location.settings)
        connection.socket_connect_timeout = min(timeout, connection.socket_connect_timeout or timeout)
        connection.socket_timeout = timeout
        connection.connect()
    except (redis.RedisError, OSError) as exc:
        encrypted = issubclass(location.connection_class, redis.SSLConnection)
        error = encryption.trouble_on_the_way(exc, location.name, location.settings, encrypted=encrypted)
        raise error or explain(exc, location.name) from exc
    except (TypeError, ValueError) as exc:
        raise DurableStreamUnavailableError(f"{location.name} can not be connected to: {exc}") from exc
    return Wire(location, connection)
