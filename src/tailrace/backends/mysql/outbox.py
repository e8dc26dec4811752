"""Appending inside a transaction of the application, on its connection, whatever its settings are.

A topic is looked up, and begun if it is new, outside of that transaction. At the isolation that is MySQL's default a
look inside of it for what is not there would lock the space between its neighbours, or the end of the index, and keep
others from beginning their topics until the application is done.
"""

import contextlib
import logging
from collections.abc import Callable, Sequence

from typing_extensions import override

from tailrace.backends.mysql import literals, writing
from tailrace.backends.mysql.errors import NO_SAVEPOINT, code_of, explain
from tailrace.backends.mysql.line import Rows
from tailrace.backends.mysql.lives import Life, Lives
from tailrace.backends.mysql.tables import Statements
from tailrace.backends.mysql.transactions import Transactions
from tailrace.backends.mysql.writing import Ask, Growth
from tailrace.backends.sql.batches import Batch, by_topic
from tailrace.backends.sql.callers import NO_TRANSACTION, Run, origin, runner, text_of
from tailrace.backends.sql.cuts import CUT_RECORDS, overfull
from tailrace.backends.sql.rows import TopicRow
from tailrace.errors import DurableStreamError, DurableStreamUnavailableError, InvalidArgumentError
from tailrace.retention import Retention
from tailrace.spi import Appended, AppendRefused, Entry

_SESSION = b"SELECT @@innodb_lock_wait_timeout, DATABASE(), @@autocommit"
_PATIENCE = b"SET SESSION innodb_lock_wait_timeout = %d"
_SAVE = b"SAVEPOINT tailrace_append"
_BACK = b"ROLLBACK TO SAVEPOINT tailrace_append"

_log = logging.getLogger("tailrace.store")


class Outbox:
    """Thread-safe.

    Args:
        name: Of the store, for messages.
        lives: Which topics there are, by connections of the store.
        kept: Returns the bounds of a topic.
        literal: Bytes that a payload may take in a statement.
        deadline: Returns that of what begins now.
        timeout: Seconds.
    """

    def __init__(
        self,
        name: str,
        lives: Lives,
        transactions: Transactions,
        statements: Statements,
        kept: Callable[[str], Retention],
        literal: int,
        deadline: Callable[[], float],
        timeout: float,
    ) -> None:
        self._name = name
        self._lives, self._transactions = lives, transactions
        self._statements = statements
        self._kept = kept
        self._literal = literal
        self._deadline = deadline
        self._timeout = timeout
        self._full: dict[str, int] = {}

    def append(self, connection: object, entry: Entry) -> None:
        """Store an entry as part of the transaction that is open on ``connection``."""
        ask = self._mapped(runner(connection))
        # Not in the transaction of the append: what a cut touches would stay locked with it.
        if (added := self._full.pop(entry.topic, None)) is not None:
            self._cut(entry.topic, added)
        life = self._lives.begun(entry.topic)
        ((waits, database, autocommit),) = ask([_SESSION])[-1]
        if text_of(database) != life.database:
            raise InvalidArgumentError(f"this connection is to another database than the store: {self._name}")
        ask([_PATIENCE % min(int(waits), max(1, int(self._timeout)))])
        try:
            self._store(ask, entry, life, autocommit=bool(autocommit))
        finally:
            ask([_PATIENCE % waits])

    def _store(self, ask: Ask, entry: Entry, life: Life, *, autocommit: bool) -> None:
        (batch,) = by_topic([entry])
        growth = _OnCallers(self._statements, self._kept, self._literal, life)
        statements, ((_, outcomes),) = growth.prepare(ask, [batch], wait=True, create=False)
        if isinstance(outcomes[0], AppendRefused):
            raise outcomes[0].error
        if not isinstance(outcomes[0], Appended) or outcomes[0].end.incarnation != life.incarnation:
            if self._lives.find(entry.topic) == life:
                raise InvalidArgumentError(f"this connection is to another server than the store: {self._name}")
            raise DurableStreamUnavailableError("the topic was deleted meanwhile: roll back, and run it again")
        self._save(ask, autocommit=autocommit)
        try:
            ask(statements)
        except BaseException:
            # Unlike PostgreSQL, the server lets a transaction go on after an error: committed with some of these
            # statements, the topic would have records that its row knows nothing of, and take no more of them.
            with contextlib.suppress(DurableStreamUnavailableError):
                ask([_BACK])
            raise
        if growth.full:
            self._full[entry.topic] = len(entry.payloads)

    def _save(self, ask: Ask, *, autocommit: bool) -> None:
        """Set a savepoint; find out whether there is a transaction where no driver tells."""
        ask([_SAVE])
        if autocommit:
            try:
                ask([_BACK])
            except DurableStreamUnavailableError as exc:
                if exc.__cause__ is None or code_of(exc.__cause__) != NO_SAVEPOINT:
                    raise
                raise InvalidArgumentError(NO_TRANSACTION) from exc

    def _cut(self, topic: str, added: int) -> None:
        keep = self._kept(topic)
        keep = Retention(max_records=keep.max_records, max_bytes=keep.max_bytes)

        def work(ask: Ask) -> tuple[Sequence[bytes], None]:
            # It may be the very transaction of who appends now that holds the topic: not to be waited for.
            rows = ask([self._statements.lock % literals.text(topic.encode()) + b" SKIP LOCKED"])[-1]
            if not rows:
                return (), None
            row = TopicRow._make(rows[0][:-1])
            return writing.cut(ask, self._statements, row, keep, 0, CUT_RECORDS + added).statements, None

        try:
            self._transactions.run(work, self._deadline(), wait=False)
        except DurableStreamUnavailableError as exc:
            _log.warning("a topic could not be cut to its limits, and is left to a sweep: %s", exc)

    def _mapped(self, run: Run) -> Ask:
        def ask(statements: Sequence[bytes]) -> Sequence[Rows]:
            try:
                return [run(statement.decode()) for statement in statements]
            except DurableStreamError:
                raise
            except Exception as exc:  # noqa: BLE001 - of whatever driver
                # What becomes of the transaction is up to its owner.
                found = origin(exc)
                raise explain(found, self._name) from found

        return ask


class _OnCallers(Growth):
    """Leaves the limits of the topic for later, and does not look for topics that are not there."""

    def __init__(self, statements: Statements, kept: Callable[[str], Retention], literal: int, life: Life) -> None:
        super().__init__(statements, kept, literal, literals.hexadecimal)
        self.full = False
        self._life = life

    @override
    def _locked(self, ask: Ask, names: Sequence[bytes], *, wait: bool) -> tuple[dict[bytes, TopicRow], set[bytes]]:
        rows = ask([self._statements.lock_one % self._life.id])[-1]
        return {bytes(row[-1]): TopicRow._make(row[:-1]) for row in rows}, set()

    @override
    def _keep(self, ask: Ask, batch: Batch, records: int, size: int, statements: list[bytes]) -> None:
        self.full = overfull(self._kept(batch.topic), records, size)
