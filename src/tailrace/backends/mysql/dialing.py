"""Opening a connection with one of the two drivers: PyMySQL, which any process can use, or mysqlclient."""

import functools
import math
import ssl
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.constants import CLIENT

from tailrace import native
from tailrace.backends.mysql.errors import explain
from tailrace.backends.mysql.line import CutShort, Line
from tailrace.backends.mysql.location import Location
from tailrace.errors import StoreUnusableError

if TYPE_CHECKING:
    _Base = pymysql.Connection[Any]
else:
    _Base = pymysql.Connection

_CHARSET = "utf8mb4"


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
        driver = _mysqlclient()
        return functools.partial(_with_mysqlclient, driver, location), (driver.Error, OSError)
    # It turns only what it expects into its own errors.
    return functools.partial(_with_pymysql, location), (pymysql.Error, OSError, RuntimeError, ValueError, IndexError)


class _Connection(_Base):
    """A connection that makes no use of the authorities of the system where it asks nobody who the server is.

    PyMySQL loads them for each anew, which takes most of the time of connecting. Where it calls that otherwise one day,
    it does so again, and nothing else is different.
    """

    def _create_ssl_ctx(self, sslp: ssl.SSLContext | dict[str, Any]) -> ssl.SSLContext:
        return sslp if isinstance(sslp, ssl.SSLContext) else _unverified()


def _with_pymysql(location: Location, seconds: float) -> "pymysql.Connection[Any]":
    return _Connection(
        **_place(location),
        database=location.database,
        charset=_CHARSET,
        client_flag=CLIENT.MULTI_STATEMENTS,
        connect_timeout=max(1, math.ceil(seconds)),
        read_timeout=seconds,
        write_timeout=seconds,
        program_name="tailrace",
        **_pymysql_tls(location),
    )


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
    return MySQLdb


def _with_mysqlclient(driver: Any, location: Location, seconds: float) -> Any:  # noqa: ANN401
    # It takes whole seconds, once for all: a call may take that much longer than it was given.
    whole = max(1, math.ceil(seconds))
    place = _place(location)
    if place.get("host") == "localhost":
        # That name would mean a socket file to it.
        place["host"] = "127.0.0.1"
    tls: dict[str, Any] = {}
    if location.unix_socket is None:
        files = {"ca": location.ssl_ca, "cert": location.ssl_cert, "key": location.ssl_key}
        tls = {"ssl_mode": location.ssl_mode.upper(), "ssl": {name: path for name, path in files.items() if path}}
    return driver.connect(
        **place,
        database=location.database,
        charset=_CHARSET,
        autocommit=None,
        client_flag=CLIENT.MULTI_STATEMENTS,
        connect_timeout=whole,
        read_timeout=whole,
        write_timeout=whole,
        **tls,
    )
