"""The blocking subscription: a seat, and the waiting of the calling thread."""

import time
from typing import Self

from typing_extensions import override

from tailrace import arguments, native
from tailrace.broadcast import protocols
from tailrace.broadcast.errors import BroadcastError, BroadcastUnavailableError
from tailrace.broadcast.hub import Hub
from tailrace.broadcast.seat import Seat
from tailrace.records import Closed


class Subscription(protocols.Subscription):
    """One independent listener to one topic. One-shot; only ``close`` may be called from other threads."""

    __slots__ = ("_hub", "_seat")

    def __init__(self, hub: Hub, seat: Seat) -> None:
        self._hub = hub
        self._seat = seat

    @override
    def __enter__(self) -> Self:
        self._seat.enter()
        self._join()
        return self

    @override
    def receive(self, timeout: float = 0.1) -> bytes | Closed | None:
        seconds = arguments.timeout_seconds(timeout)
        self._seat.begin_to_receive()
        try:
            return self._receive(seconds)
        except BroadcastError:
            raise
        except BaseException:
            # KeyboardInterrupt, a soft time limit: it may have come between taking a message and returning it.
            self._seat.interrupted()
            raise

    def _receive(self, seconds: float) -> bytes | Closed | None:
        seat, waiter = self._seat, self._seat.waiter
        deadline = time.monotonic() + seconds
        while True:
            generation = waiter.generation
            message = seat.take()
            if message is not None:
                return message
            left = deadline - time.monotonic()
            if left <= 0:
                if native.patched():
                    # Whoever only polls, with a timeout of 0, must let the greenlet in that would bring a message.
                    time.sleep(0)
                return None
            waiter.wait(generation, left)

    @override
    def close(self) -> None:
        self._hub.leave(self._seat)

    @property
    @override
    def dropped(self) -> int:
        return self._seat.dropped

    def prepare(self) -> Self:
        """Miss nothing from now on. Blocks.

        Raises:
            BroadcastUnavailableError: That can not be confirmed; it is closed.
        """
        if self._seat.start is None:
            self._join()
        return self

    def _join(self) -> None:
        seat, waiter = self._seat, self._seat.waiter
        patience = self._hub.options.confirm_timeout
        deadline = time.monotonic() + patience
        try:
            self._hub.join(seat)
            while True:
                generation = waiter.generation
                if seat.confirmed():
                    return
                left = deadline - time.monotonic()
                if left <= 0:
                    raise BroadcastUnavailableError(f"{self._hub.carrier.name} confirmed nothing for {patience} s")
                waiter.wait(generation, left)
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        self._hub.abandon(self._seat)

    def __repr__(self) -> str:
        return f"<broadcast.Subscription {self._seat!r}>"
