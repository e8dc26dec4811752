"""Appending: what one call of ``append`` does, and what its transactions mean for each entry."""

import time
from collections.abc import Sequence

from tailrace.backends.mysql.errors import LOCK_WAIT, code_of
from tailrace.backends.mysql.tables import Statements
from tailrace.backends.mysql.transactions import Transactions
from tailrace.backends.mysql.writing import Ask, Growth
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import Retention
from tailrace.spi import AppendDeferred, AppendOutcome, AppendRefused, AppendUnknown, Entry


class Appending:
    """Thread-safe.

    Args:
        literal: Bytes that a payload may take in a statement.
    """

    def __init__(self, transactions: Transactions, statements: Statements, keep: Retention, literal: int) -> None:
        self._transactions = transactions
        self._statements = statements
        self._keep = keep
        self._literal = literal

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        """Store entries; return one outcome for each.

        Topics that somebody else has locked are left out at first, whoever may wait: together they would wait for one
        another.
        """
        deadline = time.monotonic() + timeout
        if _topics(entries) == 1 and entries[0].may_wait:
            return self._store(entries, deadline, wait=True)
        outcomes = list(self._store(entries, deadline, wait=False))
        for topic in dict.fromkeys(entry.topic for entry in entries):
            left = [
                index
                for index, entry in enumerate(entries)
                if entry.topic == topic and entry.may_wait and isinstance(outcomes[index], AppendDeferred)
            ]
            if left:
                late = self._store([entries[index] for index in left], deadline, wait=True)
                for index, outcome in zip(left, late, strict=True):
                    outcomes[index] = outcome
        return outcomes

    def _store(self, entries: Sequence[Entry], deadline: float, *, wait: bool) -> Sequence[AppendOutcome]:
        create = True
        while True:
            # Anew for each attempt, tags included: what an earlier one has noted is void.
            try:
                return self._transactions.run(self._growing(entries, wait=wait, create=create), deadline, wait=wait)
            except DurableStreamUnavailableError as exc:
                if not wait and create and not exc.maybe_stored and _kept_locked(exc):
                    # Somebody else is creating one of the topics. The others need not wait for that.
                    create = False
                    continue
                return [AppendUnknown(exc) if exc.maybe_stored else AppendRefused(exc)] * len(entries)

    def _growing(self, entries: Sequence[Entry], *, wait: bool, create: bool):  # type: ignore[no-untyped-def]  # noqa: ANN202
        def work(ask: Ask) -> tuple[Sequence[bytes], Sequence[AppendOutcome]]:
            growth = Growth(self._statements, entries, self._keep, self._literal)
            return growth.prepare(ask, wait=wait, create=create), growth.outcomes

        return work


def _topics(entries: Sequence[Entry]) -> int:
    return len({entry.topic for entry in entries})


def _kept_locked(exc: DurableStreamUnavailableError) -> bool:
    return exc.__cause__ is not None and code_of(exc.__cause__) == LOCK_WAIT
