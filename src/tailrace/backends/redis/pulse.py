"""A connection that mostly listens: whether the other end is still there, and waiting for what it was asked."""

import select
import time
from typing import Any

from typing_extensions import override

from tailrace.backends.pulse import Pulse
from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError


class RedisPulse(Pulse):
    """Not thread-safe. Raises ``OSError`` when the connection is broken.

    Args:
        name: Of the other end, for messages.
        patience: Seconds that sending may take.
    """

    def __init__(self, wire: Wire, name: str, patience: float) -> None:
        super().__init__(name, patience)
        self.wire = wire

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

    @override
    def _ask(self, deadline: float) -> None:
        self.wire.send(pack((b"PING",)), deadline)
