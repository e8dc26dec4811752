"""Appending inside a transaction of the application, on its connection, whatever its settings are.

A new topic is begun outside of that transaction, empty: to look for one that is not there, and to add it, would lock
the space between its neighbours at the isolation that is MySQL's default, and keep others from beginning theirs.
"""

from collections.abc import Callable, Sequence

from typing_extensions import override

from tailrace.backends.mysql import literals, writing
from tailrace.backends.mysql.errors import explain
from tailrace.backends.mysql.line import Rows
from tailrace.backends.mysql.tables import Statements
from tailrace.backends.mysql.transactions import Transactions
from tailrace.backends.mysql.writing import Ask, Growth
from tailrace.backends.sql.batches import Batch, by_topic, random_incarnation
from tailrace.backends.sql.callers import Run, origin, runner
from tailrace.backends.sql.cuts import CUT_RECORDS, overfull
from tailrace.backends.sql.rows import TopicRow
from tailrace.errors import DurableStreamError, DurableStreamUnavailableError, InvalidArgumentError
from tailrace.retention import Retention
from tailrace.spi import Appended, AppendOutcome, AppendRefused, Entry

KNOWN = 10_000
"""Topics whose life is remembered, so that it need not be asked for."""


class Outbox:
    """Thread-safe.

    Args:
        name: Of the store, for messages.
        transactions: On connections of the store.
        inside: Statements that name the database of the store: a connection may have another one at hand.
        own: The same, without.
        kept: Returns the bounds of a topic.
        literal: Bytes that a payload may take in a statement.
        timeout: Seconds.
    """

    def __init__(
        self,
        name: str,
        transactions: Transactions,
        inside: Statements,
        own: Statements,
        kept: Callable[[str], Retention],
        literal: int,
        deadline: Callable[[], float],
        timeout: float,
    ) -> None:
        self._name = name
        self._transactions = transactions
        self._inside, self._own = inside, own
        self._kept = kept
        self._literal = literal
        self._deadline = deadline
        self._timeout = timeout
        self._lives: dict[str, int] = {}
        self._full: dict[str, int] = {}

    def append(self, connection: object, entry: Entry) -> None:
        """Store an entry as part of the transaction that is open on ``connection``."""
        ask = self._mapped(runner(connection))
        # Not in the transaction of the append: what a cut touches would stay locked with it.
        if (added := self._full.pop(entry.topic, None)) is not None:
            self._cut(entry.topic, added)
        life = self._lives.get(entry.topic) or self._begin(entry.topic)
        ((waits,),) = ask([b"SELECT @@innodb_lock_wait_timeout"])[-1]
        patience = min(int(waits), max(1, int(self._timeout)))
        ask([b"SET SESSION innodb_lock_wait_timeout = %d" % patience])
        try:
            self._store(ask, entry, life)
        finally:
            ask([b"SET SESSION innodb_lock_wait_timeout = %d" % waits])

    def _store(self, ask: Ask, entry: Entry, life: int) -> None:
        (batch,) = by_topic([entry])
        growth, statements, outcome = self._grown(ask, batch)
        if (isinstance(outcome, Appended) and outcome.end.incarnation != life) or outcome is None:
            # Deleted since, and perhaps begun again.
            life = self._begin(entry.topic)
            if outcome is None:
                growth, statements, outcome = self._grown(ask, batch)
        if isinstance(outcome, AppendRefused):
            raise outcome.error
        if not isinstance(outcome, Appended) or outcome.end.incarnation != life:
            raise InvalidArgumentError(f"this connection is to another server than the store: {self._name}")
        ask(statements)
        if growth.full:
            self._full[entry.topic] = len(entry.payloads)

    def _grown(self, ask: Ask, batch: Batch) -> "tuple[_OnCallers, Sequence[bytes], AppendOutcome | None]":
        growth = _OnCallers(self._inside, self._kept, self._literal, literals.hexadecimal)
        statements, outcomes = growth.prepare(ask, [batch], wait=True, create=False)
        outcome = outcomes[0][1][0]
        return growth, statements, outcome if isinstance(outcome, Appended | AppendRefused) else None

    def _begin(self, topic: str) -> int:
        """Return the incarnation of a topic, which is begun if it is not there."""
        name = literals.text(topic.encode())

        def work(ask: Ask) -> tuple[Sequence[bytes], int]:
            rows = ask([self._own.life % name])[-1]
            if rows:
                return (), int(rows[0][0])
            made = random_incarnation()
            return [self._own.begin % (name, made)], made

        if len(self._lives) >= KNOWN:
            self._lives.clear()
        life = self._lives[topic] = self._transactions.run(work, self._deadline())
        return life

    def _cut(self, topic: str, added: int) -> None:
        keep = self._kept(topic)
        keep = Retention(max_records=keep.max_records, max_bytes=keep.max_bytes)

        def work(ask: Ask) -> tuple[Sequence[bytes], None]:
            # It may be the very transaction of who appends now that holds the topic: not to be waited for.
            rows = ask([self._own.lock_one % literals.text(topic.encode()) + b" SKIP LOCKED"])[-1]
            if not rows:
                return (), None
            row = TopicRow._make(rows[0][:-1])
            return writing.cut(ask, self._own, row, keep, 0, CUT_RECORDS + added).statements, None

        self._transactions.run(work, self._deadline(), wait=False)

    def _mapped(self, run: Run) -> Ask:
        def ask(statements: Sequence[bytes]) -> Sequence[Rows]:
            try:
                return [run(statement.decode()) for statement in statements]
            except DurableStreamError:
                raise
            except Exception as exc:
                # Of whatever driver. What becomes of the transaction is up to its owner.
                raise self._explained(exc) from exc

        return ask

    def _explained(self, exc: Exception) -> DurableStreamUnavailableError:
        return explain(origin(exc), self._name)


class _OnCallers(Growth):
    """Leaves the limits of the topic for later, and does not look for topics that are not there."""

    full = False

    @override
    def _locked(self, ask: Ask, names: Sequence[bytes], *, wait: bool) -> tuple[dict[bytes, TopicRow], set[bytes]]:
        (name,) = names
        rows = ask([self._statements.lock_one % literals.text(name)])[-1]
        return {name: TopicRow._make(row[:-1]) for row in rows}, set()

    @override
    def _keep(self, ask: Ask, batch: Batch, records: int, size: int, statements: list[bytes]) -> None:
        self.full = overfull(self._kept(batch.topic), records, size)
