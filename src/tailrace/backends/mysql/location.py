"""What a mysql:// or mariadb:// URL says: which server and database, how to connect, under which table prefix."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from tailrace.errors import InvalidArgumentError
from tailrace.options import StoreURL

DEFAULT_PREFIX = "tailrace_"
DRIVERS = ("pymysql", "mysqlclient")
SSL_MODES = ("disabled", "preferred", "required", "verify_ca", "verify_identity")

_PREFIX = re.compile(r"[A-Za-z0-9_]{0,40}")
_KNOWN = (
    *("driver", "poll_max", "poll_min", "pool_size", "prefix"),
    *("ssl_ca", "ssl_cert", "ssl_key", "ssl_mode", "unix_socket"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """One database.

    Attributes:
        prefix: Of the names of all tables.
        driver: ``pymysql`` or ``mysqlclient``.
        ssl_mode: As MySQL's own clients call it. Without one, ``verify_identity`` if there is an ``ssl_ca``, or else
            ``preferred``.
        poll_min, poll_max: Seconds between two looks for changes, soon after one and long after.
        pool_size: Connections kept open; four times as many may be open at once.
        opener: Opens a connection of the driver, with further arguments; ``None``: with what else is said here.
    """

    host: str = "localhost"
    port: int = 3306
    unix_socket: str | None = None
    user: str = ""
    password: str = field(default="", repr=False)
    database: str = ""
    prefix: str = DEFAULT_PREFIX
    driver: str = "pymysql"
    ssl_mode: str = "preferred"
    ssl_ca: str | None = None
    ssl_cert: str | None = None
    ssl_key: str | None = None
    poll_min: float = 0.005
    poll_max: float = 0.1
    pool_size: int = 8
    opener: Callable[[Mapping[str, Any]], Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.database:
            raise InvalidArgumentError("mysql:// needs a database, like mysql://user@localhost/events")
        if not _PREFIX.fullmatch(self.prefix):
            raise InvalidArgumentError("a table prefix has up to 40 ASCII letters, digits and underscores")
        if self.driver not in DRIVERS:
            raise InvalidArgumentError(f"driver must be one of {', '.join(DRIVERS)}")
        if self.ssl_mode not in SSL_MODES:
            raise InvalidArgumentError(f"ssl_mode must be one of {', '.join(SSL_MODES)}")
        if not 0.001 <= self.poll_min <= self.poll_max <= 60:
            raise InvalidArgumentError("poll_min and poll_max are seconds: 0.001 <= poll_min <= poll_max <= 60")
        if not 1 <= self.pool_size <= 1000:
            raise InvalidArgumentError("pool_size must be from 1 to 1000")

    @property
    def name(self) -> str:
        """For messages; holds no password."""
        where = self.unix_socket or f"{self.host}:{self.port}"
        return f"the database {self.database!r} at {where}"


def locate(url: StoreURL) -> Location:
    """Read a URL.

    Raises:
        InvalidArgumentError: It can not be used like this.
    """
    try:
        parsed = urlsplit(url.raw)
        port = parsed.port
    except ValueError as exc:
        raise InvalidArgumentError(
            f"{url.scheme}:// needs a URL like {url.scheme}://user@localhost:3306/events [{exc}]"
        ) from exc
    settings = dict(url.query)
    unknown = settings.keys() - set(_KNOWN)
    if unknown:
        raise InvalidArgumentError(
            f"{url.scheme}:// has no setting called {min(unknown)}; it knows: {', '.join(_KNOWN)}"
        )
    return _located(parsed, port, settings)


def _located(parsed: SplitResult, port: int | None, settings: Mapping[str, str]) -> Location:
    ssl_ca = settings.get("ssl_ca")
    return Location(
        host=parsed.hostname or "localhost",
        port=port or 3306,
        unix_socket=settings.get("unix_socket"),
        user=unquote(parsed.username or ""),
        password=unquote(parsed.password or ""),
        database=unquote(parsed.path.removeprefix("/")),
        prefix=settings.get("prefix", DEFAULT_PREFIX),
        driver=settings.get("driver", "pymysql").lower(),
        ssl_mode=settings.get("ssl_mode", "verify_identity" if ssl_ca else "preferred").lower(),
        ssl_ca=ssl_ca,
        ssl_cert=settings.get("ssl_cert"),
        ssl_key=settings.get("ssl_key"),
        poll_min=_number(settings, "poll_min", 0.005),
        poll_max=_number(settings, "poll_max", 0.1),
        pool_size=int(_number(settings, "pool_size", 8)),
    )


def _number(settings: Mapping[str, str], name: str, default: float) -> float:
    try:
        return float(settings.get(name, default))
    except ValueError:
        raise InvalidArgumentError(f"{name} must be a number") from None
