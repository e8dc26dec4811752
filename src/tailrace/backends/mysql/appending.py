"""Appending: what one call of ``append`` does, and what its transactions mean for each entry."""

import time
from collections.abc import Callable, Sequence

from tailrace.backends.mysql.errors import locked
from tailrace.backends.mysql.tables import Statements
from tailrace.backends.mysql.transactions import Transactions
from tailrace.backends.mysql.writing import Ask, Growth, Outcomes
from tailrace.backends.sql.batches import Batch, by_topic, in_order
from tailrace.errors import DurableStreamUnavailableError
from tailrace.retention import Retention
from tailrace.spi import AppendDeferred, AppendOutcome, AppendRefused, AppendUnknown, Entry


class Appending:
    """Thread-safe.

    Args:
        kept: Returns the bounds of a topic.
        literal: Bytes that a payload may take in a statement.
    """

    def __init__(
        self, transactions: Transactions, statements: Statements, kept: Callable[[str], Retention], literal: int
    ) -> None:
        self._transactions = transactions
        self._statements = statements
        self._kept = kept
        self._literal = literal

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        """Store entries; return one outcome for each.

        Of several topics those that somebody else has locked are left out at first, whoever may wait: the others would
        wait with them.
        """
        deadline = time.monotonic() + timeout
        batches = by_topic(entries)
        if len(batches) == 1:
            return in_order(self._store(batches, deadline, wait=batches[0].may_wait))
        outcomes: Outcomes = []
        for batch, its in self._store(batches, deadline, wait=False):
            if batch.may_wait and isinstance(its[0], AppendDeferred):
                outcomes += self._store([batch], deadline, wait=True)
            else:
                outcomes.append((batch, its))
        return in_order(outcomes)

    def _store(self, batches: Sequence[Batch], deadline: float, *, wait: bool) -> Outcomes:
        try:
            try:
                return self._attempt(batches, deadline, wait=wait, create=True)
            except DurableStreamUnavailableError as exc:
                if wait or not locked(exc):
                    raise
            # Somebody else is creating one of the topics, and has not committed it. The others need not wait for that.
            return self._attempt(batches, deadline, wait=wait, create=False)
        except DurableStreamUnavailableError as exc:
            failed = AppendUnknown(exc) if exc.maybe_stored else AppendRefused(exc)
            return [(batch, batch.all(failed)) for batch in batches]

    def _attempt(self, batches: Sequence[Batch], deadline: float, *, wait: bool, create: bool) -> Outcomes:
        def work(ask: Ask) -> tuple[Sequence[bytes], Outcomes]:
            growth = Growth(self._statements, self._kept, self._literal)
            return growth.prepare(ask, batches, wait=wait, create=create)

        return self._transactions.run(work, deadline, wait=wait)
