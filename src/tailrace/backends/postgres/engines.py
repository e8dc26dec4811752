"""An ``Engine`` of SQLAlchemy in the place of a URL: which database it is for, and how connections to it are opened."""

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import conninfo, pq
from psycopg.pq.abc import PGconn

from tailrace.backends.postgres.line import connect
from tailrace.backends.postgres.location import DEFAULT_SCHEMA, POOL_SIZE, Location
from tailrace.backends.sql.engines import Arguments, Way, way_of
from tailrace.errors import InvalidArgumentError

_ADVICE = "make one with postgresql+psycopg://, for psycopg 3, or pass the URL"
_NOT_OF_LIBPQ = ("autocommit", "context", "cursor_factory", "prepare_threshold", "row_factory")


def from_engine(
    engine: object, *, schema: str = DEFAULT_SCHEMA, prefix: str = "", pool_size: int = POOL_SIZE
) -> Location:
    """Return the location that an engine leads to. Connects to nothing.

    Args:
        engine: An ``Engine`` or ``AsyncEngine`` of psycopg 3.
        schema, prefix, pool_size: As in a URL.

    Raises:
        InvalidArgumentError: It is of another driver.
    """
    way = way_of(engine, ("psycopg",), _ADVICE)
    shown = {"host": way.url.host, "port": way.url.port, "dbname": way.url.database}
    said = conninfo.make_conninfo("", **{name: str(value) for name, value in shown.items() if value is not None})
    return Location(conninfo=said, schema=schema, prefix=prefix, pool_size=pool_size, dial=_Dial(way))


class _Dial:
    def __init__(self, way: Way) -> None:
        self._way = way

    def __call__(self, more: Mapping[str, str], deadline: float) -> PGconn:
        opened = self._way.open()
        if not isinstance(opened, Arguments):
            return _taken_out(opened)
        named = {name: value for name, value in opened.named.items() if name not in _NOT_OF_LIBPQ}
        try:
            # What is not there may come from the environment, as in a URL.
            asked = conninfo.make_conninfo(*opened.positional, **{**more, **named, "client_encoding": "UTF8"})
        except psycopg.ProgrammingError as exc:
            raise InvalidArgumentError(f"the arguments of this engine can not be used: {exc}") from exc
        return connect(asked, deadline)


def _taken_out(connection: Any) -> PGconn:  # noqa: ANN401 - whatever a creator returns
    """Return what a connection of the driver stands on, which goes on without it."""
    pgconn: PGconn | None = getattr(connection, "pgconn", None)
    if pgconn is None or not isinstance(connection, psycopg.Connection):
        raise InvalidArgumentError(f"the creator of this engine makes a {type(connection).__name__}: {_ADVICE}")
    if pgconn.transaction_status == pq.TransactionStatus.INTRANS:
        # Left open by whoever has set the session up: what was set counts from the commit on.
        connection.commit()
    # It has no say any more, and does not complain that nobody closed it.
    del connection.pgconn
    return pgconn
