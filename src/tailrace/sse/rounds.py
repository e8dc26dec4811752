"""Turns of an event loop in which readers look for what is new: some in each, so that nobody waits for all of them.

Whatever comes between two turns (an append, its acknowledgement, the next event) is served before the readers who are
left; they then get two events in one write. So an event reaches every reader within one round, however long that takes,
and not after the round of the event before it.
"""

import asyncio
from collections import deque
from typing import Protocol

TURN = 64
"""Readers that look in one turn: about a millisecond of writes."""


class Sleeper(Protocol):
    """A reader that waits for what is new."""

    def look(self) -> bool:
        """Take what there is; return whether it goes on waiting here."""


class Rounds:
    """Gives the lines of one event loop their turns. Of that loop."""

    __slots__ = ("_lines", "_turning")

    def __init__(self) -> None:
        self._lines: deque[Line] = deque()
        self._turning = False

    def add(self, line: "Line") -> None:
        """Give a line turns until nobody in it is left to look."""
        self._lines.append(line)
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        left = TURN
        try:
            while left > 0 and self._lines:
                # In rotation: a few readers of one topic do not wait for the many of another.
                line = self._lines.popleft()
                try:
                    left -= line.serve(left)
                finally:
                    if line.busy_since is not None:
                        self._lines.append(line)
        finally:
            self._turning = bool(self._lines)
            if self._turning:
                asyncio.get_running_loop().call_soon(self._turn)


class Line:
    """Readers of the same events: those that rest, and those that were called and have not looked yet.

    Args:
        rounds: Of the loop.

    Attributes:
        busy_since: When the first was called of those that were called without a pause; ``None`` if all have looked.
    """

    __slots__ = ("_called", "_resting", "_rounds", "busy_since")

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        # In the order in which they looked: it is also the order in which they are called.
        self._resting: dict[Sleeper, None] = {}
        self._called: deque[Sleeper] = deque()
        self.busy_since: float | None = None

    def enter(self, sleeper: Sleeper) -> None:
        """Have a reader called once."""
        self._resting[sleeper] = None

    def leave(self, sleeper: Sleeper) -> None:
        """Forget a reader. One that was called already may still be asked to look."""
        self._resting.pop(sleeper, None)

    def call(self) -> None:
        """Have everybody look who rests. Whoever was called before and has not looked will see this, too."""
        if not self._resting:
            return
        self._called.extend(self._resting)
        self._resting.clear()
        if self.busy_since is None:
            self.busy_since = asyncio.get_running_loop().time()
            self._rounds.add(self)

    def serve(self, most: int) -> int:
        """Have some look, at most so many; return how many did."""
        called, resting = self._called, self._resting
        count = min(most, len(called))
        try:
            for _ in range(count):
                sleeper = called.popleft()
                if sleeper.look():
                    resting[sleeper] = None
        finally:
            if not called:
                self.busy_since = None
        return count
