"""Opening a connection with one of the two drivers: PyMySQL, which any process can use, or mysqlclient."""

import functools
import math
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pymysql
import pymysql.converters
import pymysql.cursors
from pymysql.constants import CLIENT, COMMAND

from tailrace import native
from tailrace.backends.mysql.errors import explain
from tailrace.backends.mysql.line import CutShort, Line
from tailrace.backends.mysql.location import Location
from tailrace.errors import StoreUnusableError

if TYPE_CHECKING:
    _Base = pymysql.Connection[Any]
else:
    _Base = pymysql.Connection

MULTI_STATEMENTS: int = CLIENT.MULTI_STATEMENTS
"""The flag of a connection that takes several statements at once. The same number for both drivers."""

_CHARSET = "utf8mb4"
_MULTI_STATEMENTS_ON = 0


def dial(location: Location, deadline: float) -> Line:
    """Open one connection and set it up.

    Raises:
        DurableStreamUnavailableError: It could not be opened.
    """
    connect, errors = _dialers(location)
    left = max(0.001, deadline - time.monotonic())
    try:
        connection = connect(left)
    except errors as exc:
        raise explain(exc, location.name) from exc
    line = Line(connection, cuttable=location.driver == "pymysql", errors=errors)
    try:
        line.greet(deadline)
    except CutShort as exc:
        line.close()
        raise explain(exc.error, location.name) from exc.error
    except BaseException:
        line.close()
        raise
    return line


def _dialers(location: Location) -> tuple[Callable[[float], Any], tuple[type[Exception], ...]]:
    if location.driver == "mysqlclient":
        return functools.partial(_with_mysqlclient, location), (_mysqlclient().Error, OSError)
    # It turns only what it expects into its own errors.
    return functools.partial(_with_pymysql, location), (pymysql.Error, OSError, RuntimeError, ValueError, IndexError)


class _Connection(_Base):
    """A connection that makes no use of the authorities of the system where it asks nobody who the server is.

    PyMySQL loads them for each anew, which takes most of the time of connecting. Where it calls that otherwise one day,
    it does so again, and nothing else is different.
    """

    def _create_ssl_ctx(self, sslp: ssl.SSLContext | dict[str, Any]) -> ssl.SSLContext:
        return sslp if isinstance(sslp, ssl.SSLContext) else _unverified()


def call(driver: str, positional: Sequence[Any], named: Mapping[str, Any]) -> Any:  # noqa: ANN401 - of either driver
    """Call a driver's ``connect``. Raises what that raises."""
    if driver == "mysqlclient":
        return _mysqlclient().connect(*positional, **named)
    return pymysql.connect(*positional, **named)


def multiple(driver: str, connection: Any) -> Any:  # noqa: ANN401 - of either driver
    """Return a connection of somebody else's making, with what one of ours has from its beginning."""
    if driver == "mysqlclient":
        connection.set_server_option(_MULTI_STATEMENTS_ON)
    else:
        connection._execute_command(COMMAND.COM_SET_OPTION, _MULTI_STATEMENTS_ON.to_bytes(2, "little"))
        connection._read_packet()
        connection.cursorclass, connection.decoders = pymysql.cursors.Cursor, pymysql.converters.decoders
        connection.use_unicode = True
    connection.set_character_set(_CHARSET)
    return connection


def _with_pymysql(location: Location, seconds: float) -> "pymysql.Connection[Any]":
    more: dict[str, Any] = {
        "charset": _CHARSET,
        "connect_timeout": max(1, math.ceil(seconds)),
        "read_timeout": seconds,
        "write_timeout": seconds,
        "program_name": "tailrace",
    }
    if location.opener is not None:
        opened: pymysql.Connection[Any] = location.opener(more)
        return opened
    its = {**_place(location), "database": location.database, "client_flag": MULTI_STATEMENTS}
    return _Connection(**its, **more, **_pymysql_tls(location))


def _place(location: Location) -> dict[str, Any]:
    login = {"user": location.user, "password": location.password}
    if location.unix_socket is not None:
        return {**login, "unix_socket": location.unix_socket}
    return {**login, "host": location.host, "port": location.port}


def _pymysql_tls(location: Location) -> dict[str, Any]:
    if location.ssl_mode == "disabled" or location.unix_socket is not None:
        return {"ssl_disabled": True}
    if location.ssl_mode == "preferred":
        return {}
    return {"ssl": _context(location)}


def _context(location: Location) -> ssl.SSLContext:
    asked = location.ssl_ca is not None or location.ssl_mode != "required"
    try:
        context = ssl.create_default_context(cafile=location.ssl_ca) if asked else _unverified()
        if location.ssl_cert is not None:
            context.load_cert_chain(location.ssl_cert, location.ssl_key)
    except (OSError, ValueError) as exc:
        raise StoreUnusableError(f"{location.name}: a file of its TLS settings can not be used [{exc}]") from exc
    context.check_hostname = location.ssl_mode == "verify_identity"
    if location.ssl_mode == "required":
        context.verify_mode = ssl.CERT_NONE
    return context


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _mysqlclient() -> Any:  # noqa: ANN401 - a driver without types
    if native.patched():
        raise StoreUnusableError("driver=mysqlclient would stop all greenlets while it waits: use driver=pymysql")
    try:
        import MySQLdb  # type: ignore[import-untyped]
    except ImportError as exc:
        raise StoreUnusableError("driver=mysqlclient is not installed: pip install mysqlclient") from exc
    if MySQLdb.version_info[:2] < (2, 2):
        # It knows no ssl_mode.
        raise StoreUnusableError("this mysqlclient is too old: 2.2 or newer is needed, or driver=pymysql")
    return MySQLdb


def _with_mysqlclient(location: Location, seconds: float) -> Any:  # noqa: ANN401 - a driver without types
    # It takes whole seconds, once for all: a call may take that much longer than it was given.
    whole = max(1, math.ceil(seconds))
    more = {
        "charset": _CHARSET,
        "autocommit": None,
        "connect_timeout": whole,
        "read_timeout": whole,
        "write_timeout": whole,
    }
    if location.opener is not None:
        return location.opener(more)
    place = _place(location)
    if place.get("host") == "localhost":
        # That name would mean a socket file to it.
        place["host"] = "127.0.0.1"
    tls: dict[str, Any] = {}
    if location.unix_socket is None:
        files = {"ca": location.ssl_ca, "cert": location.ssl_cert, "key": location.ssl_key}
        tls = {"ssl_mode": location.ssl_mode.upper(), "ssl": {name: path for name, path in files.items() if path}}
    return _mysqlclient().connect(**place, **more, database=location.database, client_flag=MULTI_STATEMENTS, **tls)
