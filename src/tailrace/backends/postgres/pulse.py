"""Whether the server is still there at the other end of the connection that listens."""

import time

from typing_extensions import override

from tailrace.backends.postgres.line import Line
from tailrace.backends.pulse import Pulse


class PostgresPulse(Pulse):
    """Not thread-safe. Raises what ``Line`` raises.

    Args:
        name: Of the other end, for messages.
        patience: Seconds that sending may take.
    """

    def __init__(self, line: Line, name: str, patience: float) -> None:
        super().__init__(name, patience)
        self._line = line

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

    @override
    def _ask(self, deadline: float) -> None:
        # No statement at all.
        self._line.send("", None, deadline)
