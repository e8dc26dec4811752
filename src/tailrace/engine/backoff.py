"""How long to wait before a store that failed is asked again, and when to give up. Pure: time is an argument."""

import random

FIRST_DELAY = 0.02
LONGEST_DELAY = 0.5


class Outage:
    """One run of failures of one reader or channel, from its first failure to its end.

    Args:
        budget: Seconds from the first failure after which it is given up; 0 gives up at once.
    """

    __slots__ = ("_attempts", "_budget", "retry_at", "since")

    def __init__(self, budget: float) -> None:
        self._budget = budget
        self._attempts = 0
        self.since: float | None = None
        self.retry_at = 0.0

    def failed(self, now: float) -> bool:
        """Note a failure; return whether to try again, at ``retry_at``."""
        if self.since is None:
            self.since = now
        if now - self.since >= self._budget:
            return False
        # Jitter, because every reader of the process failed in the same instant.
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2**self._attempts) * random.uniform(0.75, 1.25)
        self._attempts = min(self._attempts + 1, 16)
        self.retry_at = min(now + delay, self.since + self._budget)
        return True

    def over(self) -> None:
        """Note a success."""
        if self.since is not None:
            self.since, self._attempts, self.retry_at = None, 0, 0.0
