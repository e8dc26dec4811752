"""Live messages inside this process: the publisher's own thread puts them before whoever listens. The reference.

``memory://`` is a channel of its own; ``memory://name`` is shared by all channels of this process that name it.
"""

import threading

from typing_extensions import override

from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError
from tailrace.forks import renew_in_child
from tailrace.options import StoreURL
from tailrace.spi import Carrier, Line, Listener, Mark


class MemoryPlace:
    """What channels of one name share: their lines. A lock makes that all of them hear the same order."""

    def __init__(self) -> None:
        self.lines: dict[MemoryLine, None] = {}
        self.after_fork()
        renew_in_child(self)

    def after_fork(self) -> None:
        """Let nobody hold the lock in a child process. Reentrant: an interrupted publisher may be the next one."""
        self.lock = threading.RLock()


class MemoryLine(Line):
    """Hears every topic of its place: which of them anybody listens to, the listener knows."""

    def __init__(self, place: MemoryPlace, listener: Listener) -> None:
        self.listener = listener
        self._place = place

    @override
    def follow(self, topic: str, start: Mark | None) -> bool:
        return True

    @override
    def leave(self, topic: str) -> None:
        pass

    @override
    def close(self) -> None:
        with self._place.lock:
            self._place.lines.pop(self, None)

    @override
    def disown(self) -> None:
        self._place.lines.pop(self, None)


class MemoryCarrier(Carrier):
    """One channel's hand on a place."""

    def __init__(self, place: MemoryPlace, name: str) -> None:
        self.name = name
        self._place = place
        self._closed = False

    @override
    def publish(self, topic: str, payload: bytes, timeout: float) -> None:
        if self._closed:
            raise DurableStreamUnavailableError("the channel is closed")
        with self._place.lock:
            for line in list(self._place.lines):
                line.listener.heard(topic, payload, None)

    @override
    def tail(self, topic: str, timeout: float) -> Mark | None:
        return None

    @override
    def open(self, listener: Listener) -> Line:
        line = MemoryLine(self._place, listener)
        with self._place.lock:
            self._place.lines[line] = None
        return line

    @override
    def close(self) -> None:
        self._closed = True


_named: dict[str, MemoryPlace] = {}


def open_broadcast(url: StoreURL, timeout: float) -> Carrier:
    """Open ``memory://`` or ``memory://name`` for live messages."""
    if url.query:
        raise InvalidArgumentError(f"memory:// has no setting called {min(url.query)}")
    place = _named.setdefault(url.location, MemoryPlace()) if url.location else MemoryPlace()
    return MemoryCarrier(place, url.text)
