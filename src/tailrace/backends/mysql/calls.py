"""Calls to the server: on a connection that is lent for it, and once more on another where that can do no harm."""

import time
from collections.abc import Callable
from typing import TypeVar

from tailrace.backends.connections import Connections
from tailrace.backends.mysql.dialing import dial
from tailrace.backends.mysql.errors import explain
from tailrace.backends.mysql.line import CutShort, Line
from tailrace.backends.mysql.location import Location
from tailrace.errors import DurableStreamUnavailableError

T = TypeVar("T")


class Calls:
    """Thread-safe."""

    def __init__(self, location: Location) -> None:
        self.name = location.name
        self._connections: Connections[Line] = Connections(
            lambda seconds: dial(location, time.monotonic() + seconds),
            most=4 * location.pool_size,
            kept=location.pool_size,
        )
        self._closed = False

    def once(self, work: Callable[[Line], T], deadline: float) -> T:
        """Lend a connection to ``work``. After any failure it is closed: whatever state it was in ends with it.

        Raises:
            CutShort: From ``work``.
            DurableStreamUnavailableError: There is no connection; nothing was sent.
        """
        slot = self._connections.take(deadline)
        keep = False
        try:
            line = slot.wire
            assert line is not None
            result = work(line)
            keep = line.clean
            return result
        finally:
            self._connections.give_back(slot, keep=keep)

    def again(self, work: Callable[[Line], T], deadline: float) -> T:
        """Like ``once``, with another connection if the first one turns out to be lost. For work that may be repeated.

        Raises:
            DurableStreamUnavailableError: Any failure.
        """
        try:
            try:
                return self.once(work, deadline)
            except CutShort as exc:
                if not self.may_repeat(exc, deadline):
                    raise
            return self.once(work, deadline)
        except CutShort as exc:
            raise self.explained(exc) from exc.error

    def may_repeat(self, cut: CutShort, deadline: float) -> bool:
        """Whether another connection may help: this one was lost, and not because the server is silent."""
        return not (self._closed or cut.server_said or cut.timed_out or time.monotonic() >= deadline)

    def explained(self, cut: CutShort) -> DurableStreamUnavailableError:
        """Return our error for one of a driver's."""
        if self._closed:
            return DurableStreamUnavailableError("the store is closed")
        return explain(cut.error, self.name)

    def close(self) -> None:
        """Close what is idle, and wake whoever waits for an answer. Never raises; from any thread."""
        self._closed = True
        self._connections.close()

    def forget(self) -> None:
        """In a child: let go of what is the parent's, and start afresh."""
        self._connections.forget()
