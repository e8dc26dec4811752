"""A client that takes nothing of what it is sent, and when it is given up. Of one connection and its event loop."""

import asyncio

SECONDS = 120.0
"""Seconds in which a client takes nothing: a reader may pause, but what it leaves lying is our memory."""
HURRY = 5.0
"""The same, once the server is about to end: one reader that sleeps is not to keep it for as long as it may."""


class Stall:
    """Cuts a connection off whose client takes nothing for too long, however slowly others take theirs.

    Args:
        seconds: How long that is.
    """

    __slots__ = ("_seconds", "_timer")

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.WriteTransport) -> None:
        """Watch from now on: more is written than the client takes just now, and nothing is added until it has."""
        left = transport.get_write_buffer_size()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look, transport, left)

    def hurry(self, transport: asyncio.WriteTransport) -> None:
        """Give up sooner from now on."""
        self._seconds = min(self._seconds, HURRY)
        if self._timer is not None:
            self.end()
            self.begin(transport)

    def end(self) -> None:
        """Watch no longer. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, transport: asyncio.WriteTransport, left: int) -> None:
        if transport.get_write_buffer_size() < left:
            self.begin(transport)
        else:
            # Not ``close``, which waits until the rest is taken.
            transport.abort()
