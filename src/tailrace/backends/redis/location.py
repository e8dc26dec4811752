"""What a redis:// URL or an existing client says: which server, how to connect, under which prefix."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tailrace.backends.redis.keys import DEFAULT_PREFIX
from tailrace.errors import InvalidArgumentError
from tailrace.options import StoreURL

_OURS = ("prefix", "wait_replicas", "wait_timeout")
"""The last two are taken out by ``replication.py`` before a URL gets here, and named to whoever misspells one."""

_DRIVERS = (
    "client_name",
    "db",
    "password",
    "protocol",
    "socket_connect_timeout",
    "socket_keepalive",
    "ssl_ca_certs",
    "ssl_ca_path",
    "ssl_cert_reqs",
    "ssl_certfile",
    "ssl_check_hostname",
    "ssl_keyfile",
    "ssl_keyfile_password",
    "username",
)

_PLACES = {"": ":6379", "sentinel": ":26379/mymaster"}

_DECODED = (
    "this Redis client decodes replies (decode_responses=True) and would damage payloads: "
    "make one without it for Tailrace"
)


@dataclass(frozen=True, slots=True)
class Location:
    """One server.

    Attributes:
        name: For messages; holds no password.
        connection_class: The driver's class that makes connections to it.
        settings: Its arguments; may hold a password.
    """

    name: str
    connection_class: type[Any] = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)

    @property
    def database(self) -> int:
        """The number of the database."""
        return int(self.settings.get("db") or 0)

    def at(self, address: tuple[str, int]) -> "Location":
        """Return another server that is connected to in the same way."""
        settings = {**self.settings, "host": address[0], "port": address[1]}
        return Location(_name(settings), self.connection_class, settings)


def locate(url: StoreURL, written: str = "", also: Collection[str] = ()) -> tuple[Location, str]:
    """Read ``redis://``, ``rediss://`` or ``unix://``; return the server and the prefix.

    Args:
        written: The scheme of the URL that this one was made from, if it was: messages are about what somebody wrote.
        also: Settings that it may have and this one has not.

    Raises:
        InvalidArgumentError: A setting is unknown or has a value that it can not have.
    """
    settings = dict(url.query)
    written = written or url.scheme
    if settings.get("decode_responses", "").lower() not in ("", "0", "false", "no"):
        raise InvalidArgumentError(_DECODED)
    settings.pop("decode_responses", None)
    unknown = settings.keys() - {*_OURS, *_DRIVERS}
    if unknown:
        known = ", ".join(sorted((*_OURS, *_DRIVERS, *also)))
        raise InvalidArgumentError(f"{written}:// has no setting called {min(unknown)}; it knows: {known}")
    parts = urlsplit(url.raw)
    query = urlencode([pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] in _DRIVERS])
    try:
        # Not by urlunsplit, which makes unix:/path of unix:///path.
        place = url.raw.partition("://")[2].partition("?")[0].partition("#")[0]
        pool = redis.ConnectionPool.from_url(f"{url.scheme}://{place}?{query}")
        port = parts.port
    except (ValueError, TypeError) as exc:
        raise InvalidArgumentError(f"{written}:// can not be used like this: {exc}") from exc
    if settings.get("protocol", "2") not in ("2", "3"):
        raise InvalidArgumentError("protocol must be 2 or 3")
    if url.scheme != "unix":
        _check_database(parts.path, port, written)
    return from_pool(pool), settings.get("prefix", DEFAULT_PREFIX)


def from_client(client: object) -> Location:
    """Read an existing client of one server: its settings are used, its connections are not.

    Raises:
        InvalidArgumentError: It is no synchronous client, or it decodes what must stay bytes.
    """
    pool = getattr(client, "connection_pool", None)
    if not isinstance(client, redis.Redis) or not isinstance(pool, redis.ConnectionPool):
        raise InvalidArgumentError(f"a redis.Redis client is needed, or a RedisCluster, not {type(client).__name__}")
    return from_pool(pool)


def from_pool(pool: "redis.ConnectionPool") -> Location:
    """Read the settings that a pool makes its connections with."""
    settings = dict(pool.connection_kwargs)
    if settings.get("decode_responses"):
        raise InvalidArgumentError(_DECODED)
    for name in [name for name in settings if "maint" in name or name.startswith("orig_")]:
        # What the driver's own pool does about a server's upgrades: these connections are not in it.
        del settings[name]
    # A write that is sent twice may be stored twice. What may be repeated is repeated above.
    settings |= {"retry": Retry(NoBackoff(), 0), "retry_on_timeout": False, "retry_on_error": []}
    # Nothing here needs RESP3, and RESP2 passes through any proxy.
    settings["protocol"] = int(settings.get("protocol") or 2)
    return Location(_name(settings), pool.connection_class, settings)


def _check_database(path: str, port: int | None, written: str) -> None:
    # The driver would take database 0 for one that it can not read.
    number = path.strip("/")
    if number and not number.isdecimal():
        example = f"{written}://localhost{_PLACES.get(written.partition('+')[2], '')}/0"
        raise InvalidArgumentError(f"{written}:// names a database by its number, like {example}, not {path}")
    if port == 0:
        raise InvalidArgumentError(f"{written}:// can not use port 0")


def _name(settings: Mapping[str, Any]) -> str:
    database = f"/{settings['db']}" if settings.get("db") else ""
    if "path" in settings:
        return f"Redis at {settings['path']}{database}"
    return f"Redis at {settings.get('host', 'localhost')}:{settings.get('port', 6379)}{database}"
