"""Requests to the server: on a connection that is lent for it, and once more on another where that can do no harm."""

import time
from collections.abc import Callable
from typing import TypeVar

from tailrace.backends.connections import Connections
from tailrace.backends.http.answers import PROBLEM_BYTES, Answer, explain, is_ours
from tailrace.backends.http.dialing import Dialing
from tailrace.backends.http.line import BrokenLineError, Head, Line
from tailrace.backends.http.location import Location
from tailrace.backends.http.pauses import Pauses
from tailrace.errors import DurableStreamUnavailableError
from tailrace.wire import MalformedError

T = TypeVar("T")


class Calls:
    """Thread-safe.

    Args:
        location: Which server.
    """

    def __init__(self, location: Location) -> None:
        self.name = location.name
        self.pauses = Pauses(location.name)
        self._prefix = location.prefix
        self.dial = Dialing(location).dial
        self._connections: Connections[Line] = Connections(self.dial)
        self._closed = False

    def once(self, path: bytes, body: bytes | None, take: Callable[[Line, Head, float], T], deadline: float) -> T:
        """Ask once; ``take`` reads what a bulk route answered. After a failure the connection is closed.

        Raises:
            BrokenLineError: There was no whole answer.
            DurableStreamUnavailableError: There is no connection; or what another answer means.
        """
        slot = self._connections.take(deadline)
        keep = False
        try:
            line = slot.wire
            assert line is not None
            head = self.begin(line, path, body, deadline)
            result = take(line, head, deadline)
            keep = line.clean
            return result
        except DurableStreamUnavailableError:
            # The server has said so, to the end perhaps: a busy one is not to be connected to all the time.
            keep = slot.wire is not None and slot.wire.clean
            raise
        finally:
            self._connections.give_back(slot, keep=keep)

    def begin(self, line: Line, path: bytes, body: bytes | None, deadline: float) -> Head:
        """Send a request on a connection and return the beginning of an answer of a bulk route.

        Raises:
            BrokenLineError: There was none.
            DurableStreamUnavailableError: What another answer means.
        """
        head = line.ask("GET" if body is None else "POST", self._prefix + path.decode(), body, deadline)
        if not is_ours(head):
            self.pauses.note(path, head)
            raise explain(Answer(head, _some(line, deadline)), self.name)
        return head

    def again(self, path: bytes, body: bytes | None, take: Callable[[Line, Head, float], T], deadline: float) -> T:
        """Like ``once``, with another connection if the first one turns out to be lost. For what may be repeated.

        Raises:
            DurableStreamUnavailableError: Any failure.
        """
        try:
            try:
                return self.once(path, body, take, deadline)
            except BrokenLineError as exc:
                if self._closed or exc.timed_out or time.monotonic() >= deadline:
                    raise
            return self.once(path, body, take, deadline)
        except (BrokenLineError, MalformedError) as exc:
            raise self.explained(exc) from exc

    def explained(self, exc: BrokenLineError | MalformedError) -> DurableStreamUnavailableError:
        """Return our error for an answer that broke off, or that makes no sense."""
        if self._closed:
            return DurableStreamUnavailableError("the store is closed")
        if isinstance(exc, MalformedError):
            return DurableStreamUnavailableError(f"{self.name} answered what makes no sense: {exc}")
        return DurableStreamUnavailableError(f"{self.name} did not answer to the end: {exc}")

    def close(self) -> None:
        """Close what is idle, and wake whoever waits for an answer. Never raises; from any thread."""
        self._closed = True
        self._connections.close()

    def forget(self) -> None:
        """In a child: let go of what is the parent's, and start afresh."""
        self._connections.forget()


def whole(limit: int) -> Callable[[Line, Head, float], bytes]:
    """Return what takes a body as a whole, of at most ``limit`` bytes."""

    def take(line: Line, _: Head, deadline: float) -> bytes:
        found = bytearray()
        for data in line.body(deadline):
            found += data
            if len(found) > limit:
                raise MalformedError(f"an answer is over {limit} bytes")
        return bytes(found)

    return take


def _some(line: Line, deadline: float) -> bytes:
    """Return the beginning of an error, as far as it comes."""
    found = bytearray()
    try:
        for data in line.body(deadline):
            found += data
            if len(found) > PROBLEM_BYTES:
                break
    except BrokenLineError:
        # Its status says enough.
        pass
    return bytes(found)
