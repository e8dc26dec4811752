"""What a postgresql:// URL says: which database, how to connect, and where in it the tables are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

import psycopg
from psycopg import conninfo
from psycopg.pq.abc import PGconn

from tailrace.errors import InvalidArgumentError
from tailrace.options import StoreURL

DEFAULT_SCHEMA = "tailrace"
POOL_SIZE = 16

_OURS = ("pool_size", "prefix", "schema")
_MAX_NAME_BYTES = 40
"""The server cuts names at 63 bytes; what is added to a prefix for tables and indexes has to fit too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """One database, and the place of the tables in it.

    Attributes:
        conninfo: As libpq takes it; may hold a password. What it leaves open is taken from the environment and from
            the files that libpq reads.
        schema: Of all tables.
        prefix: Of the names of all tables.
        pool_size: Connections at once, at most, without that of the watch.
        dial: Opens a connection, with further settings unless they are set, until a deadline; ``None``: by conninfo.
    """

    conninfo: str = field(repr=False)
    schema: str = DEFAULT_SCHEMA
    prefix: str = ""
    pool_size: int = POOL_SIZE
    dial: Callable[[Mapping[str, str], float], PGconn] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, value in (("schema", self.schema), ("prefix", self.prefix)):
            if len(value.encode(errors="replace")) > _MAX_NAME_BYTES or not value.isprintable():
                raise InvalidArgumentError(f"{name} must have at most {_MAX_NAME_BYTES} bytes, all of them printable")
        if not self.schema:
            raise InvalidArgumentError("schema must have a name, as in ?schema=public")
        if not 2 <= self.pool_size <= 1000:
            raise InvalidArgumentError("pool_size must be from 2 to 1000")

    @property
    def name(self) -> str:
        """For messages; holds no password."""
        parts = conninfo.conninfo_to_dict(self.conninfo)
        place = parts.get("host") or parts.get("hostaddr") or "the local socket"
        port = f":{parts['port']}" if parts.get("port") else ""
        database = f"/{parts['dbname']}" if parts.get("dbname") else ""
        return f"PostgreSQL at {place}{port}{database}"


def locate(url: StoreURL) -> Location:
    """Read ``postgresql://user:password@host:port/database?schema=...``; whatever else libpq knows may follow.

    Raises:
        InvalidArgumentError: It can not be used like this.
    """
    place, _, asked = url.raw.partition("#")[0].partition("://")[2].partition("?")
    pairs = parse_qsl(asked, keep_blank_values=True)
    others = urlencode([pair for pair in pairs if pair[0] not in _OURS])
    ours = {name: value for name, value in pairs if name in _OURS}
    try:
        parts = conninfo.conninfo_to_dict(f"postgresql://{place}{'?' if others else ''}{others}")
        pool_size = int(ours.get("pool_size", POOL_SIZE))
    except (psycopg.Error, ValueError) as exc:
        said = str(exc).strip()
        raise InvalidArgumentError(
            f"{url.scheme}:// can not be used like this: {said}; its own settings are: {', '.join(_OURS)}"
        ) from exc
    return Location(
        conninfo=conninfo.make_conninfo("", **{name: str(value) for name, value in parts.items()}),
        schema=ours.get("schema", DEFAULT_SCHEMA),
        prefix=ours.get("prefix", ""),
        pool_size=pool_size,
    )
