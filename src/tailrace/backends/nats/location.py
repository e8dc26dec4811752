"""What a nats:// URL says: which servers, how to connect, and what the store is called there."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args
from urllib.parse import SplitResult, unquote, urlsplit

from tailrace.backends.nats.names import DEFAULT_NAME, Layout, Names
from tailrace.errors import InvalidArgumentError, StoreUnusableError
from tailrace.options import StoreURL

_OURS = (
    "creds",
    "inbox_prefix",
    "layout",
    "nkey",
    "replicas",
    "stream",
    "tls_ca",
    "tls_cert",
    "tls_first",
    "tls_hostname",
    "tls_key",
)
_PORT = 4222
_MOST_REPLICAS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where a store is.

    Attributes:
        servers: Addresses of servers of one cluster, without login; any of them will do.
        login: Arguments of the driver that say who we are; may hold a password.
        tls: Files of TLS; ``None`` where the connection is encrypted only if the server wants it.
        names: What everything is called there.
        replicas: How many servers of a cluster have each message; ``None``: as it is, and 1 where it is made.
    """

    servers: tuple[str, ...]
    login: dict[str, Any] = field(default_factory=dict, repr=False)
    tls: "Encryption | None" = None
    names: Names = field(default_factory=Names)
    replicas: int | None = None
    inbox_prefix: str = "_INBOX"

    @property
    def name(self) -> str:
        """For messages; holds no password."""
        places = ", ".join(server.partition("://")[2] for server in self.servers)
        return f"NATS at {places}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Encryption:
    """How connections are encrypted."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    hostname: str | None = None
    first: bool = False

    def settings(self) -> dict[str, Any]:
        """Return the driver's arguments.

        Raises:
            StoreUnusableError: A file can not be used.
        """
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.cert is not None:
                context.load_cert_chain(self.cert, self.key)
        except (OSError, ssl.SSLError) as exc:
            raise StoreUnusableError(
                f"tls_ca, tls_cert or tls_key can not be used: {exc.strerror or exc}: name a PEM file that can be read"
            ) from exc
        found: dict[str, Any] = {"tls": context}
        if self.hostname is not None:
            found["tls_hostname"] = self.hostname
        if self.first:
            found["tls_handshake_first"] = True
        return found


def locate(url: StoreURL) -> Location:
    """Read ``nats://user:password@host:4222,host:4222/?stream=...`` or ``tls://``.

    Raises:
        InvalidArgumentError: It can not be used like this.
    """
    settings = dict(url.query)
    unknown = settings.keys() - set(_OURS)
    if unknown:
        raise InvalidArgumentError(
            f"{url.scheme}:// has no setting called {min(unknown)}; it knows: {', '.join(_OURS)}"
        )
    place, _, path = url.raw.partition("#")[0].partition("://")[2].partition("?")[0].partition("/")
    if path.strip("/"):
        raise InvalidArgumentError(f"{url.scheme}:// has no path: a store is named by ?stream={path.strip('/')}")
    _login, at, hosts = place.rpartition("@")
    servers = tuple(_server(url.scheme, host) for host in hosts.split(","))
    login = _login_of(_login if at else "", settings)
    return Location(
        servers=servers,
        login=login,
        tls=_encryption(url.scheme, settings),
        names=Names(settings.get("stream", DEFAULT_NAME), _layout(settings)),
        replicas=_replicas(settings),
        inbox_prefix=settings.get("inbox_prefix", "_INBOX"),
    )


def _server(scheme: str, host: str) -> str:
    try:
        parts: SplitResult = urlsplit(f"{scheme}://{host or 'localhost'}")
        port = _PORT if parts.port is None else parts.port
    except ValueError as exc:
        raise InvalidArgumentError(f"{scheme}:// can not be used like this: {exc}") from exc
    if not parts.hostname or not port:
        raise InvalidArgumentError(f"{scheme}:// names a server as host:port, like {scheme}://localhost:{_PORT}")
    shown = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{scheme}://{shown}:{port}"


def _login_of(login: str, settings: dict[str, str]) -> dict[str, Any]:
    ways = [name for name in ("creds", "nkey") if name in settings]
    for way in ways:
        if not Path(settings[way]).is_file():
            raise InvalidArgumentError(f"{way}= names no file: {settings[way]}")
    if len(ways) + bool(login) > 1:
        raise InvalidArgumentError("say who you are in one way: user and password, a token, creds= or nkey=")
    if ways:
        (way,) = ways
        return {"user_credentials" if way == "creds" else "nkeys_seed": settings[way]}
    user, colon, password = login.partition(":")
    if not login:
        return {}
    return {"user": unquote(user), "password": unquote(password)} if colon else {"token": unquote(user)}


def _encryption(scheme: str, settings: dict[str, str]) -> Encryption | None:
    files = {name: settings[f"tls_{name}"] for name in ("ca", "cert", "key", "hostname") if f"tls_{name}" in settings}
    first = settings.get("tls_first", "false").lower()
    if first not in ("true", "false", "1", "0"):
        raise InvalidArgumentError("tls_first must be true or false")
    for name, path in files.items():
        if name != "hostname" and not Path(path).is_file():
            raise InvalidArgumentError(f"tls_{name}= names no file: {path}")
    if scheme != "tls" and not files and first in ("false", "0"):
        return None
    return Encryption(**files, first=first in ("true", "1"))


def _layout(settings: dict[str, str]) -> Layout:
    for layout in get_args(Layout):
        if settings.get("layout", "shared") == layout:
            return layout  # type: ignore[no-any-return]
    raise InvalidArgumentError(f"layout must be {' or '.join(get_args(Layout))}, not {settings['layout']}")


def _replicas(settings: dict[str, str]) -> int | None:
    asked = settings.get("replicas")
    if asked is None:
        return None
    if not asked.isdecimal() or not 1 <= int(asked) <= _MOST_REPLICAS:
        raise InvalidArgumentError(f"replicas must be from 1 to {_MOST_REPLICAS}")
    return int(asked)
