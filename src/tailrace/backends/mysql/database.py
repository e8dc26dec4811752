"""More tables in the same database: transactions and looks for what is kept beside the topics."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from typing_extensions import override

from tailrace.backends.mysql import literals
from tailrace.backends.mysql.calls import Calls
from tailrace.backends.mysql.line import CutShort, Line
from tailrace.backends.mysql.tables import NOW
from tailrace.backends.mysql.transactions import Transactions
from tailrace.backends.mysql.writing import Ask as Run
from tailrace.backends.sql.words import EXTRA_TABLES, Words
from tailrace.errors import DurableStreamError
from tailrace.spi import Watch
from tailrace.spi.relational import Ask, Database, Rows, Value, Work

T = TypeVar("T")

_NOTHING = b"DO 0"

SHORT = 256
"""Bytes up to which a value is written in hexadecimal: names and keys, and no documents."""


class MysqlDatabase(Database):
    """Thread-safe.

    Args:
        watch: Opens a watch of streams.
        patience: Seconds that a look may take.
    """

    def __init__(
        self, calls: Calls, transactions: Transactions, prefix: str, watch: Callable[[], Watch], patience: float
    ) -> None:
        self._calls = calls
        self._transactions = transactions
        self._watch = watch
        self._patience = patience
        self._words = Words(
            {
                **{name: f"`{prefix}{name}`" for name in (*EXTRA_TABLES, "graves")},
                "now": NOW,
                "for_update": "FOR UPDATE",
                # Both kinds of servers understand this form.
                "for_share": "LOCK IN SHARE MODE",
                "skip_locked": "FOR UPDATE SKIP LOCKED",
                "moved": f", changed_at = {NOW}",
                "stamp": NOW,
            }
        )

    @override
    def change(self, work: Work[T], timeout: float) -> T:
        def transaction(run: Run) -> tuple[Sequence[bytes], T | DurableStreamError]:
            ask = _Ask(run, self._words)
            try:
                # Who moved is found by stamps: nobody has to be told.
                result, _ = work(ask)
            except CutShort:
                raise
            except DurableStreamError as refusal:
                # Nothing to send at last means to roll back.
                return (), refusal
            # What was sent before still has to be committed.
            return ask.pending or ([_NOTHING] if ask.wrote else ()), result

        result = self._transactions.run(transaction, time.monotonic() + timeout)
        if isinstance(result, DurableStreamError):
            raise result
        return result

    @override
    def look(self, work: Callable[[Ask], T]) -> T:
        deadline = time.monotonic() + self._patience

        def reading(line: Line) -> T:
            return work(_Ask(lambda statements: line.ask(statements, deadline), self._words))

        return self._calls.again(reading, deadline)

    @override
    def watch(self) -> Watch:
        return self._watch()


class _Ask(Ask):
    def __init__(self, run: Run, words: Words) -> None:
        self._run = run
        self._words = words
        self.pending: list[bytes] = []
        self.wrote = False

    @override
    def __call__(self, statement: str, *values: Value) -> Rows:
        # What only had to be done goes along, in the same round trip.
        statements, self.pending = [*self.pending, self._written(statement, values)], []
        return self._run(statements)[-1]

    @override
    def do(self, statement: str, *values: Value) -> None:
        self.wrote = True
        self.pending.append(self._written(statement, values))

    @override
    def add(
        self,
        table: str,
        columns: Mapping[str, type],
        rows: Sequence[Sequence[int | bytes | None]],
        *,
        if_new: bool = False,
    ) -> None:
        self.wrote = True
        verb = "INSERT IGNORE" if if_new else "INSERT"
        head = f"{verb} INTO {self._words[table]} ({', '.join(columns)}) VALUES ".encode()
        self.pending.append(head + b",".join(b"(%b)" % b",".join(map(_literal, row)) for row in rows))

    def _written(self, statement: str, values: Sequence[Value]) -> bytes:
        parts, lists = self._words.cut(statement)
        text = [parts[0].encode()]
        for value, listed, part in zip(values, lists, parts[1:], strict=True):
            if listed:
                assert isinstance(value, Sequence)
                text.append(b"IN (%b)" % b",".join(map(_literal, value)))
            else:
                assert value is None or isinstance(value, int | bytes)
                text.append(_literal(value))
            text.append(part.encode())
        return b"".join(text)


def _literal(value: int | bytes | None) -> bytes:
    if value is None:
        return b"NULL"
    if isinstance(value, int):
        return b"%d" % value
    return literals.text(value) if len(value) <= SHORT else literals.payload(value)
