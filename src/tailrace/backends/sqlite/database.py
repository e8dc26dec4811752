"""More tables in the same file: transactions and looks for what is kept beside the topics."""

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from typing_extensions import override

from tailrace.backends.sql.words import EXTRA_TABLES, Words
from tailrace.backends.sqlite.session import Session
from tailrace.backends.sqlite.watch import SqliteWatch
from tailrace.errors import DurableStreamError
from tailrace.spi import Watch
from tailrace.spi.relational import Ask, Database, Rows, Value, Work

T = TypeVar("T")

# SQLite's own clock, in its milliseconds.
_NOW = "(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)"

_WORDS = Words(
    {
        **{name: name for name in EXTRA_TABLES},
        "graves": "tombstones",
        "now": _NOW,
        # One writer at a time: it has everything locked.
        "for_update": "",
        "for_share": "",
        "skip_locked": "",
        "moved": "",
        # As the table of what was deleted keeps it.
        "stamp": _NOW,
    }
)


class SqliteDatabase(Database):
    """Thread-safe.

    Args:
        session: Returns this process's.
    """

    def __init__(self, session: Callable[[], Session]) -> None:
        self._session = session

    @override
    def change(self, work: Work[T], timeout: float) -> T:
        def transaction(connection: sqlite3.Connection) -> tuple[T | DurableStreamError, Collection[str]]:
            # A refusal must not cost the connection, as a failure does: only what it changed is undone.
            connection.execute("SAVEPOINT refusal")
            try:
                return work(_Ask(connection))
            except sqlite3.Error:
                raise
            except DurableStreamError as refusal:
                connection.execute("ROLLBACK TO refusal")
                return refusal, ()

        result = self._session().write(transaction, timeout)
        if isinstance(result, DurableStreamError):
            raise result
        return result

    @override
    def look(self, work: Callable[[Ask], T]) -> T:
        return self._session().read(lambda connection: work(_Ask(connection)))

    @override
    def watch(self) -> Watch:
        return SqliteWatch(self._session())


class _Ask(Ask):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @override
    def __call__(self, statement: str, *values: Value) -> Rows:
        return self._connection.execute(*_bound(statement, values)).fetchall()

    @override
    def do(self, statement: str, *values: Value) -> None:
        self._connection.execute(*_bound(statement, values))

    @override
    def add(
        self,
        table: str,
        columns: Mapping[str, type],
        rows: Sequence[Sequence[int | bytes | None]],
        *,
        if_new: bool = False,
    ) -> None:
        places = ", ".join("?" * len(columns))
        verb = "INSERT OR IGNORE" if if_new else "INSERT"
        statement = f"{verb} INTO {_WORDS[table]} ({', '.join(columns)}) VALUES ({places})"
        self._connection.executemany(statement, rows)


def _bound(statement: str, values: Sequence[Value]) -> tuple[str, list[int | bytes | None]]:
    """Return a statement with a place for every value, also those of lists; and the values."""
    parts, lists = _WORDS.cut(statement)
    text = [parts[0]]
    flat: list[int | bytes | None] = []
    for value, listed, part in zip(values, lists, parts[1:], strict=True):
        if listed:
            assert isinstance(value, Sequence)
            text.append(f"IN ({', '.join('?' * len(value))})")
            flat.extend(value)
        else:
            assert value is None or isinstance(value, int | bytes)
            text.append("?")
            flat.append(value)
        text.append(part)
    return "".join(text), flat
