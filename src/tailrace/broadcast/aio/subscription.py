"""The awaited subscription: a seat, and the waiting of a coroutine."""

import math
import time
from typing import Self

from typing_extensions import override

from tailrace import arguments
from tailrace.aio.waiting import Alarm
from tailrace.broadcast.aio.listening import Listening
from tailrace.broadcast.errors import BroadcastUnavailableError
from tailrace.broadcast.hub import Hub
from tailrace.broadcast.seat import Seat
from tailrace.records import Closed


class Subscription(Listening):
    """One independent listener to one topic. One-shot; only ``close`` may be called from other tasks or threads.

    ``async with`` it, then ``receive`` or ``async for``, which ends when the subscription does.
    """

    __slots__ = ("_alarm", "_hub", "_seat")

    def __init__(self, hub: Hub, seat: Seat) -> None:
        self._hub = hub
        self._seat = seat
        self._alarm = Alarm(seat.waiter)

    @override
    async def __aenter__(self) -> Self:
        self._seat.enter()
        await self._join()
        return self

    @override
    async def receive(self, timeout: float = 0.1) -> bytes | Closed | None:
        """Wait up to ``timeout`` seconds for the next message; see the blocking one.

        Cancelling it loses no message: nothing is awaited between taking one and returning it.
        """
        seconds = arguments.timeout_seconds(timeout)
        deadline = time.monotonic() + seconds if seconds < arguments.FOREVER else math.inf
        while True:
            generation = self._seat.waiter.generation
            message = self._seat.take()
            if message is not None:
                return message
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            await self._wait(generation, left)

    @override
    def close(self) -> None:
        self._hub.leave(self._seat)

    @property
    def dropped(self) -> int:
        """How many messages of this subscription are known to have been dropped."""
        return self._seat.dropped

    async def prepare(self) -> Self:
        """Miss nothing from now on.

        Raises:
            BroadcastUnavailableError: That can not be confirmed; it is closed.
        """
        if self._seat.start is None:
            await self._join()
        return self

    async def _join(self) -> None:
        seat, patience = self._seat, self._hub.options.confirm_timeout
        deadline = time.monotonic() + patience
        try:
            self._hub.join(seat)
            while True:
                generation = seat.waiter.generation
                if seat.confirmed():
                    return
                left = deadline - time.monotonic()
                if left <= 0:
                    raise BroadcastUnavailableError(f"{self._hub.carrier.name} confirmed nothing for {patience} s")
                await self._wait(generation, left)
        except BaseException:
            self.close()
            raise

    async def _wait(self, generation: int, seconds: float) -> None:
        future = self._alarm.set(seconds)
        try:
            if self._seat.waiter.generation == generation:
                await future
        finally:
            self._alarm.clear(future)

    def __del__(self) -> None:
        self._hub.abandon(self._seat)

    def __repr__(self) -> str:
        return f"<broadcast.aio.Subscription {self._seat!r}>"
