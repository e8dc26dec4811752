"""The books of one sweep: what it has done, and what its budget leaves to do."""

import time
from dataclasses import dataclass, field

from tailrace.errors import StoreUnusableError
from tailrace.spi.pages import SweepBudget, SweepReport


@dataclass(slots=True)
class SweepTally:
    """What one sweep has done so far. Not thread-safe; begins when it is made.

    Attributes:
        failures: Of single topics, which were passed.
        passed: Topics that somebody else holds, for a later sweep.
    """

    budget: SweepBudget
    topics: int = 0
    records: int = 0
    bytes: int = 0
    forgotten: int = 0
    passed: int = 0
    failures: list[StoreUnusableError] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    @property
    def room(self) -> int:
        """Records that may be removed next, in one go; 0 ends the sweep."""
        if time.monotonic() > self._began + self.budget.max_seconds:
            return 0
        return max(0, min(self.budget.chunk_records, self.budget.max_records - self.records, 2**31))

    def report(self, *, done: bool) -> SweepReport:
        """Return what was done; it is not ``done`` where a topic failed or was passed.

        Raises:
            StoreUnusableError: Nothing worked.
        """
        if self.failures and not self.topics:
            raise self.failures[0]
        return SweepReport(
            self.topics, self.records, self.bytes, self.forgotten, done=done and not self.failures and not self.passed
        )
