"""One channel, below its two colours: a carrier, at most one audience at a time, and who publishes."""

import threading
from collections import deque

from tailrace.broadcast.audience import Audience
from tailrace.broadcast.errors import BroadcastUnavailableError
from tailrace.broadcast.options import BroadcastOptions
from tailrace.broadcast.seat import Seat
from tailrace.broadcast.tally import Tally
from tailrace.engine import Workers
from tailrace.errors import DurableStreamUnavailableError, PayloadTooLargeError
from tailrace.forks import renew_in_child
from tailrace.spi import Carrier

WORKERS = 8
"""Calls of coroutines that block on the server at once."""


class Hub:
    """Thread-safe; a forked child goes on with an audience of its own.

    Args:
        carrier: It is closed with this hub.
        options: Bounds and timeouts.

    Attributes:
        workers: For coroutines; no thread of it exists before it has work.
    """

    def __init__(self, carrier: Carrier, options: BroadcastOptions) -> None:
        self.carrier = carrier
        self.options = options
        self._lock = threading.Lock()
        self._tally = Tally()
        self._audience: Audience | None = None
        self._closed = False
        # Of subscriptions that nobody has any more and nobody has closed. Only added to by the collector, which may
        # run anywhere, so that no lock can be taken there.
        self._abandoned: deque[Seat] = deque()
        self.workers = Workers(WORKERS)
        renew_in_child(self)

    def publish(self, topic: str, payload: bytes) -> None:
        """Send a message. Blocks.

        Raises:
            PayloadTooLargeError: Over the limit; nothing was sent.
            BroadcastUnavailableError: Not sent, or unknown.
        """
        if len(payload) > self.options.max_payload:
            raise PayloadTooLargeError(len(payload), self.options.max_payload, named="max_payload")
        self._check_open()
        try:
            self.carrier.publish(topic, payload, self.options.publish_timeout)
        except DurableStreamUnavailableError as exc:
            raise BroadcastUnavailableError(str(exc), maybe_published=exc.maybe_stored) from exc
        self._tally.add("published")

    def seat(self, topic: str) -> Seat:
        """Return a new seat; its start is fixed before this returns. Blocks where there is one to find out.

        Raises:
            BroadcastUnavailableError: It can not be found out.
        """
        self._check_open()
        try:
            start = self.carrier.tail(topic, self.options.confirm_timeout)
        except DurableStreamUnavailableError as exc:
            raise BroadcastUnavailableError(str(exc)) from exc
        return Seat(topic, start, self.options, self._tally)

    def join(self, seat: Seat) -> None:
        """Begin to listen, if it has not begun; whether that holds is told to the seat. Does not block.

        Raises:
            BroadcastUnavailableError: The channel is closed.
        """
        while self._abandoned:
            self.leave(self._abandoned.popleft())
        if not seat.begin_to_join():
            return
        while not self._present().admit(seat):
            pass
        if seat.over:
            # It was closed while it was let in, by somebody who did not find it in there.
            self.leave(seat)

    def leave(self, seat: Seat) -> None:
        """Close a seat. Idempotent, never raises, does not block."""
        seat.close()
        audience = self._audience
        if audience is not None:
            audience.dismiss(seat)

    def abandon(self, seat: Seat) -> None:
        """Note that nobody has this seat any more. May run in the collector."""
        if not seat.over:
            self._abandoned.append(seat)

    def close(self) -> None:
        """Close all seats and the carrier. Idempotent, never raises."""
        with self._lock:
            self._closed = True
            audience, self._audience = self._audience, None
        if audience is not None:
            audience.end()
        self.carrier.close()
        self.workers.close()

    def stats(self) -> dict[str, int]:
        """Return counts and gauges by name."""
        audience = self._audience
        present = {"subscriptions": 0, "topics": 0} if audience is None else audience.counts()
        return present | self._tally.counts()

    def after_fork(self) -> None:
        """Start afresh in a child process."""
        self._lock = threading.Lock()
        self._tally.renew()
        self.workers = Workers(WORKERS)
        audience, self._audience = self._audience, None
        if audience is not None:
            audience.orphan()

    def _present(self) -> Audience:
        with self._lock:
            self._check_open()
            audience = self._audience
            if audience is None or audience.over:
                audience = self._audience = Audience(self.carrier, self._tally)
            return audience

    def _check_open(self) -> None:
        if self._closed:
            raise BroadcastUnavailableError("the channel is closed")

    def __repr__(self) -> str:
        stats = self.stats()
        closed = ", closed" if self._closed else ""
        return f"{self.carrier.name}: {stats['subscriptions']} subscriptions to {stats['topics']} topics{closed}"
