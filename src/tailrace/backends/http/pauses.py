"""What the server has asked not to be asked again for a while: answers 429 and 503 with ``Retry-After``."""

import time

from tailrace.backends.http.line import Head
from tailrace.errors import DurableStreamUnavailableError

LONGEST = 10.0
"""Seconds that it is left alone, at most: readers ride out an outage for some time, and must look within it."""

_BUSY = frozenset({429, 503})


class Pauses:
    """For what is asked again by itself, by path. Callers who ask once decide for themselves. Thread-safe.

    Args:
        name: Of the server, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._until: dict[bytes, float] = {}

    def note(self, path: bytes, head: Head) -> None:
        """Remember what an answer asks for: seconds, not a date, which two clocks would read differently."""
        seconds = head.headers.get(b"retry-after", b"")
        if head.status in _BUSY and seconds.isdigit():
            self._until[path] = time.monotonic() + min(float(seconds), LONGEST)

    def check(self, path: bytes) -> None:
        """Let somebody ask.

        Raises:
            DurableStreamUnavailableError: Not yet.
        """
        left = self._until.get(path, 0.0) - time.monotonic()
        if left > 0:
            raise DurableStreamUnavailableError(f"{self._name} is busy, and is asked again in {left:.1f} s")
