"""An ``Engine`` of SQLAlchemy in the place of a URL: which database it is for, and how connections to it are opened."""

import time
from collections.abc import Mapping
from typing import Any

from tailrace.backends.mysql.dialing import MULTI_STATEMENTS, call, dial, multiple
from tailrace.backends.mysql.location import DEFAULT_PREFIX, Location
from tailrace.backends.sql.engines import Arguments, Way, way_of
from tailrace.errors import InvalidArgumentError

_ADVICE = "make one with mysql+pymysql:// or mysql+mysqldb://, or pass the URL"
_DRIVERS = {"pymysql": "pymysql", "mysqldb": "mysqlclient"}
_MODULES = {"pymysql": "pymysql", "mysqlclient": "MySQLdb"}
_OF_SESSION = (
    *("autocommit", "charset", "collation", "conv", "cursorclass", "defer_connect", "read_timeout", "sql_mode"),
    *("use_unicode", "write_timeout"),
)
"""What every connection of a store has its own of."""

FIRST_LOOK = 10.0
"""Seconds to find out which database an engine is for that does not say."""


def from_engine(engine: object, *, prefix: str = DEFAULT_PREFIX, **more: Any) -> Location:  # noqa: ANN401
    """Return the location that an engine leads to. Connects only if its URL has no database.

    Args:
        engine: An ``Engine`` of PyMySQL or of mysqlclient.
        prefix: As in a URL, and so are ``poll_min``, ``poll_max`` and ``pool_size``.

    Raises:
        InvalidArgumentError: It is of another driver, or its connections have no database.
        DurableStreamUnavailableError: The server is away.
    """
    way = way_of(engine, tuple(_DRIVERS), _ADVICE)
    place: dict[str, Any] = {
        "host": way.url.host or "localhost",
        "port": way.url.port or 3306,
        "database": way.url.database,
    }
    made: dict[str, Any] = {"prefix": prefix, "driver": _DRIVERS[way.driver], "opener": _Opener(way), **more}
    if not place["database"]:
        place["database"] = _database(Location(**{**place, **made, "database": "?"}))
    return Location(**place, **made)


class _Opener:
    def __init__(self, way: Way) -> None:
        self._way = way
        self._driver = _DRIVERS[way.driver]

    def __call__(self, more: Mapping[str, Any]) -> Any:  # noqa: ANN401 - of either driver
        opened = self._way.open()
        if isinstance(opened, Arguments):
            named = {name: value for name, value in opened.named.items() if name not in _OF_SESSION}
            flags = int(named.pop("client_flag", 0)) | MULTI_STATEMENTS
            return call(self._driver, opened.positional, {**named, **more, "client_flag": flags})
        if not type(opened).__module__.startswith(_MODULES[self._driver]):
            raise InvalidArgumentError(f"the creator of this engine makes a {type(opened).__name__}: {_ADVICE}")
        return multiple(self._driver, opened)


def _database(location: Location) -> str:
    deadline = time.monotonic() + FIRST_LOOK
    line = dial(location, deadline)
    try:
        ((name,),) = line.ask([b"SELECT DATABASE()"], deadline)[-1]
    finally:
        line.close()
    if not name:
        raise InvalidArgumentError("this engine is for no database: name one, as in mysql+pymysql://host/events")
    return name.decode() if isinstance(name, bytes) else str(name)
