"""A connection that mostly listens: whether the other end is still there, and waiting for what it was asked."""

import select
import time
from typing import Any

from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError

SILENCE = 5.0
"""Seconds of silence after which the other end is asked whether it is there, and then has to answer."""


class Pulse:
    """Not thread-safe. Raises ``OSError`` when the connection is broken.

    Args:
        name: Of the other end, for messages.
        patience: Seconds that sending may take.

    Attributes:
        asked: Since when an answer to whether it is there is missing; ``None`` while none is.
    """

    def __init__(self, wire: Wire, name: str, patience: float) -> None:
        self.wire = wire
        self.asked: float | None = None
        self._name = name
        self._patience = patience
        self._heard = time.monotonic()

    @property
    def due(self) -> float:
        """When it has to be looked after again."""
        return (self._heard if self.asked is None else self.asked) + SILENCE

    def look_after(self, now: float) -> None:
        """Ask an end that is silent whether it is there.

        Raises:
            DurableStreamUnavailableError: It has been asked, and is silent.
        """
        if now < self.due:
            return
        if self.asked is not None:
            raise DurableStreamUnavailableError(f"{self._name} has been silent for {now - self._heard:.0f} s")
        self.asked = now
        self.wire.send(pack((b"PING",)), now + self._patience)

    def messages(self) -> list[Any]:
        """Return what has arrived, after waiting for the socket said that something has."""
        messages = self.wire.pending()
        self._heard, self.asked = time.monotonic(), None
        return messages

    def await_more(self, deadline: float) -> bool:
        """Wait for something to arrive of what was asked for; return whether it has.

        Raises:
            DurableStreamUnavailableError: The time is over.
        """
        left = deadline - time.monotonic()
        if left <= 0:
            raise DurableStreamUnavailableError(f"{self._name} did not confirm a subscription in time")
        poll = select.poll()
        poll.register(self.wire.fileno(), select.POLLIN)
        return bool(poll.poll(left * 1000))
