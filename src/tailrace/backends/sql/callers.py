"""A connection of the application's, with a transaction open on it: what ``append_in`` runs its statements on.

Every kind of it is used through what it offers to the application: SQLAlchemy must see a statement itself, or it would
not commit a transaction that it knows nothing of.
"""

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tailrace.errors import InvalidArgumentError, InvalidTypeError

Rows: TypeAlias = Sequence[tuple[Any, ...]]
Run: TypeAlias = Callable[[str], Rows]
"""Runs one statement, with its values in it; returns its rows, none for one that has none."""

NO_TRANSACTION = "no transaction is open on this connection: begin one, append in it, and commit"


def runner(connection: Any) -> Run:  # noqa: ANN401 - of whatever library
    """Return what runs statements on a connection.

    Raises:
        InvalidTypeError: It is no connection, or one to be awaited.
        InvalidArgumentError: No transaction is open on it: a statement would be committed by itself.
    """
    if callable(getattr(connection, "get_bind", None)) and callable(getattr(connection, "connection", None)):
        # A Session of SQLAlchemy, whose connection begins its transaction.
        _check_blocking(connection.connection)
        connection = connection.connection()
    if callable(getattr(connection, "exec_driver_sql", None)):
        _check_blocking(connection.exec_driver_sql)
        _check_transaction(connection.connection.dbapi_connection)
        driver = getattr(connection.connection, "driver_connection", None)
        # Without parameters for the driver, or it would look for places of theirs in the statement.
        bare = {"no_parameters": True}

        def run_through(statement: str) -> Rows:
            with _unprepared(driver):
                return _all(connection.exec_driver_sql(statement, execution_options=bare))

        return run_through
    if not callable(getattr(connection, "cursor", None)):
        raise InvalidTypeError(
            "append_in takes a DB-API connection, or a Connection or Session of SQLAlchemy, "
            f"not {type(connection).__name__}"
        )
    _check_blocking(getattr(connection, "commit", None))
    _check_transaction(connection)

    def run(statement: str) -> Rows:
        cursor = connection.cursor()
        try:
            if hasattr(cursor, "row_factory"):
                # psycopg: rows as they are, whatever the application makes of its own.
                cursor.row_factory = lambda _: tuple
            with _unprepared(connection):
                cursor.execute(statement)
            return () if cursor.description is None else _tuples(cursor.fetchall())
        finally:
            cursor.close()

    return run


@contextlib.contextmanager
def _unprepared(driver: Any) -> Iterator[None]:  # noqa: ANN401 - a driver's connection
    """Let psycopg count no statement that runs in the block.

    It keeps the last hundred statements of each connection to find out which come again. Ours hold payloads, so that
    none does: all that this would keep is memory, tens of megabytes for each connection of a pool.
    """
    threshold = getattr(driver, "prepare_threshold", None)
    if threshold is None:
        yield
        return
    driver.prepare_threshold = None
    try:
        yield
    finally:
        driver.prepare_threshold = threshold


def _check_blocking(method: object) -> None:
    if inspect.iscoroutinefunction(method):
        raise InvalidTypeError(
            "append_in needs a connection that blocks; with one of SQLAlchemy's that is awaited, "
            "call it inside of run_sync: await session.run_sync(lambda s: topic.append_in(s, payloads))"
        )


def _check_transaction(raw: Any) -> None:  # noqa: ANN401 - a driver's connection
    """Refuse a connection that commits each statement by itself, where the driver tells."""
    autocommit = getattr(raw, "autocommit", False)
    if callable(autocommit):
        # PyMySQL and mysqlclient have a method of that name that sets it.
        told = getattr(raw, "get_autocommit", None)
        autocommit = callable(told) and bool(told())
    if autocommit and not _in_transaction(raw):
        raise InvalidArgumentError(NO_TRANSACTION)


def _in_transaction(raw: Any) -> bool:  # noqa: ANN401 - a driver's connection
    # Django's own, and mysql.connector: they say so themselves.
    for name in ("in_atomic_block", "in_transaction"):
        said = getattr(raw, name, None)
        if isinstance(said, bool):
            return said
    status = getattr(getattr(raw, "info", None), "transaction_status", None)
    if status is not None:
        # psycopg: 0 is idle.
        return bool(int(status))
    status = getattr(raw, "server_status", None)
    # PyMySQL: what the server said last; 1 is "in a transaction". mysqlclient does not tell: the server is asked later.
    return status is None or bool(status & 1)


def _all(result: Any) -> Rows:  # noqa: ANN401 - a result of SQLAlchemy
    return [tuple(row) for row in result.fetchall()] if result.returns_rows else ()


def _tuples(rows: Sequence[Any]) -> Rows:
    # An application may have asked its connection for dictionaries; their order is that of the columns.
    return [tuple(row.values()) if isinstance(row, Mapping) else tuple(row) for row in rows]


def text_of(value: object) -> str:
    """Return a text, whatever a driver made of it; that of nothing is like no other."""
    return value.decode() if isinstance(value, bytes) else str(value)


def origin(exc: Exception) -> Exception:
    """Return the driver's error, where SQLAlchemy or Django has wrapped it: what SQLAlchemy says has the payloads."""
    inner = getattr(exc, "orig", None)
    if inner is None and type(exc).__module__.startswith("django."):
        inner = exc.__cause__
    return inner if isinstance(inner, Exception) else exc
