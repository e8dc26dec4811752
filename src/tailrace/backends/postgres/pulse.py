"""Whether the other end of a connection that mostly listens is still there."""

import time

from tailrace.backends.postgres.line import Line
from tailrace.errors import DurableStreamUnavailableError

SILENCE = 5.0
"""Seconds of silence after which the other end is asked whether it is there, and then has to answer."""


class Pulse:
    """Not thread-safe. Raises what ``Line`` raises.

    Args:
        name: Of the other end, for messages.
        patience: Seconds that sending may take.

    Attributes:
        asked: Since when an answer to whether it is there is missing; ``None`` while none is.
    """

    def __init__(self, line: Line, name: str, patience: float) -> None:
        self.asked: float | None = None
        self._line = line
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
        # The cheapest question: no statement at all.
        self._line.send("", None, now + self._patience)

    def hear(self) -> None:
        """Take in what has arrived, after waiting for the descriptor said that something has."""
        self._line.hear()
        self._heard = time.monotonic()
        if self.asked is not None and self._line.answers():
            self.asked = None

    def settle(self, deadline: float) -> None:
        """Wait for a missing answer, so that something else can be asked."""
        if self.asked is not None:
            self._line.settle(deadline)
            self.asked = None
