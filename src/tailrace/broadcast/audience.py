"""Who listens on one line, topic by topic; it is told what happens there, and tells the seats.

A line dies with its audience: whoever subscribes afterwards opens another one.
"""

import threading
from collections import deque

from typing_extensions import override

from tailrace.broadcast.errors import BroadcastUnavailableError
from tailrace.broadcast.seat import Seat
from tailrace.broadcast.tally import Tally
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Carrier, Listener, Mark


class Audience(Listener):
    """Thread-safe."""

    def __init__(self, carrier: Carrier, tally: Tally) -> None:
        self._lock = threading.Lock()
        self._tally = tally
        # Dictionaries for their keys: in order, and as quick to leave as to join, however many there are.
        self._seats: dict[str, dict[Seat, None]] = {}
        self._joining: dict[str, deque[Seat]] = {}
        self._over = False
        self._line = carrier.open(self)

    @property
    def over(self) -> bool:
        """Whether its line is dead."""
        return self._over

    def admit(self, seat: Seat) -> bool:
        """Let somebody in who is joining; return whether this audience still has a line."""
        with self._lock:
            if self._over:
                return False
            # Under the lock: the line's answers are told apart by their order only.
            at_once = self._line.follow(seat.topic, seat.start)
            if at_once:
                self._seats.setdefault(seat.topic, {})[seat] = None
            else:
                self._joining.setdefault(seat.topic, deque()).append(seat)
        if at_once:
            seat.activate()
        return True

    def dismiss(self, seat: Seat) -> None:
        """Let somebody go, who is over. Idempotent."""
        topic = seat.topic
        with self._lock:
            seats, joining = self._seats.get(topic, {}), self._joining.get(topic, ())
            if self._over or not (seat in seats or seat in joining):
                return
            seats.pop(seat, None)
            if not seats:
                self._seats.pop(topic, None)
                # One that is over and joining keeps its turn: the line will answer for it too.
                if all(other.over for other in joining):
                    self._line.leave(topic)

    @override
    def joined(self, topic: str) -> None:
        with self._lock:
            joining = self._joining.get(topic)
            if not joining:
                return
            seat = joining.popleft()
            if not joining:
                del self._joining[topic]
            if not seat.over:
                self._seats.setdefault(topic, {})[seat] = None
        seat.activate()

    @override
    def heard(self, topic: str, payload: bytes, mark: Mark | None) -> None:
        # Copied in one step of the interpreter, so without the lock.
        for seat in list(self._seats.get(topic, ())):
            if not seat.put(payload, mark):
                self.dismiss(seat)

    @override
    def lost(self, topic: str | None, error: DurableStreamUnavailableError) -> None:
        with self._lock:
            if topic is None:
                self._over = True
            gone = self._take_out(topic)
        # Before they are told: whoever is looks at the counts next.
        self._tally.add("lost", len(gone))
        for seat in gone:
            broken = BroadcastUnavailableError(f"messages to {seat.topic!r} may be missing: {error}")
            broken.__cause__ = error
            seat.fail(broken)

    def end(self) -> None:
        """Close all seats, and the line. Idempotent."""
        with self._lock:
            self._over = True
            gone = self._take_out(None)
        for seat in gone:
            seat.close()
        self._line.close()

    def orphan(self) -> None:
        """In a child process: nobody here is told anything more."""
        self._lock = threading.Lock()
        self._over = True
        self._line.disown()
        for seat in self._take_out(None):
            seat.orphan()

    def counts(self) -> dict[str, int]:
        """Return how many listen, and to how many topics."""
        with self._lock:
            return {"subscriptions": sum(map(len, self._seats.values())), "topics": len(self._seats)}

    def _take_out(self, topic: str | None) -> list[Seat]:
        topics = [topic] if topic is not None else [*{**self._seats, **self._joining}]
        gone: list[Seat] = []
        for each in topics:
            gone += self._seats.pop(each, ())
            gone += (seat for seat in self._joining.pop(each, ()) if not seat.over)
        return gone
