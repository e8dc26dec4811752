"""How many bytes of payloads are in memory at once. Of one event loop."""

from collections.abc import Iterator
from contextlib import contextmanager

from tailrace.server.problems import Problem


class Room:
    """Room for payloads on their way; more are told to come back.

    Args:
        most: Bytes. A single payload is let in whatever its size.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Hold so many bytes of it.

        Raises:
            Problem: ``overloaded``.
        """
        if self._taken and self._taken + size > self._most:
            raise Problem("overloaded", "too many payloads are on their way")
        self._taken += size
        try:
            yield
        finally:
            self._taken -= size
