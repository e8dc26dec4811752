"""When to open again what was opened, confirmed, and then broke: at once if it had lasted, else later and later.

Each new connection of a watch subscribes to everything, and lets every followed topic be read. A server that confirms
it and hangs up (a proxy, a buffer that is too small, an operator) would be asked for nothing else. As long as there is
no watch, topics are read by the fallback. What can not even be opened is put off by the engine.
"""

import random

LASTED = 10.0
"""Seconds after which something that breaks is not taken to be what broke before."""

FIRST, LONGEST = 0.1, 5.0
"""Seconds of the pause after the second lapse in a row, which then doubles, and of the longest."""


class Lapses:
    """Of one thing that is opened again and again. Pure: time is an argument. Used by one thread.

    Attributes:
        over_at: Before that it is not to be opened.
    """

    def __init__(self) -> None:
        self.over_at = 0.0
        self._in_a_row = 0

    def note(self, opened: float, broke: float) -> None:
        """Note that what was opened at one time broke at another."""
        self._in_a_row = 1 if broke - opened >= LASTED else self._in_a_row + 1
        if self._in_a_row > 1:
            pause = min(LONGEST, FIRST * 2 ** min(self._in_a_row - 2, 16))
            # Jitter, because all processes lost theirs in the same instant.
            self.over_at = broke + pause * random.uniform(0.75, 1.25)
