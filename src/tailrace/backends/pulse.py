"""Whether the other end of a connection that mostly listens is still there."""

import time
from abc import ABC, abstractmethod

from tailrace.errors import DurableStreamUnavailableError

SILENCE = 5.0
"""Seconds of silence after which the other end is asked whether it is there, and then has to answer."""


class Pulse(ABC):
    """Not thread-safe. Raises what its connection raises.

    Args:
        name: Of the other end, for messages.
        patience: Seconds that sending may take.

    Attributes:
        asked: Since when an answer to whether it is there is missing; ``None`` while none is.
    """

    def __init__(self, name: str, patience: float) -> None:
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
        self._ask(now + self._patience)

    @abstractmethod
    def _ask(self, deadline: float) -> None:
        """Send the cheapest question there is."""
