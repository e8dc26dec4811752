"""The clock of a server, so that it need not be asked each time."""

import time
from collections.abc import Callable

ASKED_EVERY = 1.0
"""Seconds after which it is looked at again."""


class Clock:
    """Thread-safe.

    Args:
        ask: Returns what it says now, in microseconds since the epoch. Blocks.
    """

    def __init__(self, ask: Callable[[], int]) -> None:
        self._ask = ask
        self._read: tuple[float, int] | None = None

    def stamp(self, ago: float) -> int:
        """Return the stamp of that many seconds ago; 0 for anything before the epoch."""
        now = time.monotonic()
        if self._read is None or now - self._read[0] >= ASKED_EVERY:
            then = self._ask()
            # From when the answer came: what is a little too young is kept.
            now = time.monotonic()
            self._read = (now, then)
        read_at, then = self._read
        return max(0, then + int((now - read_at - ago) * 1e6))
