"""One NATS server, alone, or as a node of a cluster."""

import json
import shutil
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import urlopen

from typing_extensions import override

from tailrace.testing.servers.certificates import Certificates
from tailrace.testing.servers.nats.flavours import Flavour, flavour
from tailrace.testing.servers.nats.wire import Connection, NatsError
from tailrace.testing.servers.node import ServerNode
from tailrace.testing.servers.ports import LOOPBACK

Settings: TypeAlias = Mapping[str, Any]
Storage: TypeAlias = Literal["STREAM", "KV"]

_ROUTES, _MONITOR = 1, 2
"""Distances of the other ports from the one of clients."""


class NatsServer(ServerNode):
    """A server on a free port of the loopback. A context manager that starts and removes it; not thread-safe.

    Args:
        kind: Which program; without one, the newest.
        name: Of the server, as a cluster shows it.
        jetstream: Whether it has JetStream; or settings of it, such as ``max_file`` in bytes.
        synchronous: Whether every message waits for the disk. Servers before 2.10 can not.
        users: Names and passwords. Where there are some, nobody else gets in, and the first one is who tests are.
        permissions: By name of a user, what the server's configuration says about it: ``{"publish": {"deny": ...}}``.
        token: What everybody has to show instead.
        tls: Whether it speaks TLS; with the certificates of another server if it is these.
        mutual: Whether it wants a certificate of its clients too.
        settings: Anything else of the configuration, such as ``max_payload``.
        lines: More of it, as it stands in a file.

    Raises:
        ServerMissingError: There is no such server here.
    """

    def __init__(
        self,
        kind: Flavour | None = None,
        *,
        name: str = "alone",
        jetstream: bool | Settings = True,
        synchronous: bool = False,
        users: Mapping[str, str] | None = None,
        permissions: Mapping[str, Settings] | None = None,
        token: str | None = None,
        tls: bool | Certificates = False,
        mutual: bool = False,
        settings: Settings | None = None,
        lines: str = "",
    ) -> None:
        self.flavour = kind or flavour()
        super().__init__("nats", offsets=(_ROUTES, _MONITOR))
        self.name = name
        self.users = dict(users or {})
        self.token = token
        self.certificates = tls if isinstance(tls, Certificates) else None
        self._jetstream = jetstream
        self._synchronous = synchronous
        self._permissions = dict(permissions or {})
        self._mutual = mutual
        self._settings = dict(settings or {})
        self._lines = lines
        if tls is True:
            try:
                self.certificates = Certificates.make(self.folder)
            except BaseException:
                self.close()
                raise

    @property
    def route(self) -> str:
        """Where other nodes find it."""
        return f"nats://{LOOPBACK}:{self.port + _ROUTES}"

    @property
    def login(self) -> str:
        """What stands before the ``@`` of a URL."""
        if self.token is not None:
            return f"{quote(self.token, safe='')}@"
        for user, password in self.users.items():
            return f"{quote(user, safe='')}:{quote(password, safe='')}@"
        return ""

    def url(self, **settings: str) -> str:
        """Return the URL of a store on it.

        Args:
            settings: Of the URL, such as ``stream``.
        """
        return store_url([self], **settings)

    def configure(self, **settings: object) -> None:
        """Change its configuration, for its next start."""
        self._settings |= settings

    def connect(self, *, timeout: float = 10.0) -> Connection:
        """Open a connection, as the first of its users.

        Raises:
            OSError: It is not there.
            NatsError: It does not want us.
        """
        login = {"auth_token": self.token} if self.token is not None else {}
        for user, password in self.users.items():
            login = {"user": user, "pass": password}
            break
        return Connection(self.port, login=login, tls=self._tls(), timeout=timeout)

    def call(self, operation: str, *, timeout: float = 10.0, **arguments: object) -> dict[str, Any]:
        """Ask JetStream over a new connection: ``STREAM.INFO.events`` is an operation; return what it answers.

        Raises:
            NatsError: It says no, or is not there.
            OSError: The server is not there.
        """
        with self.connect(timeout=timeout) as connection:
            return connection.jetstream(operation, **arguments)

    def streams(self) -> list[str]:
        """Return the names of all streams; those of buckets begin with ``KV_``."""
        # A page of them is longer than any test's list.
        return sorted(self.call("STREAM.NAMES")["streams"] or ())

    def drop(self, stream: str) -> None:
        """Delete a stream; nothing happens if there is none."""
        try:
            self.call(f"STREAM.DELETE.{stream}")
        except NatsError as refused:
            if refused.code != NOT_FOUND:
                raise

    def monitor(self, path: str) -> dict[str, Any]:
        """Return a page of its monitoring, such as ``varz`` or ``jsz``. Raises OSError."""
        with urlopen(f"http://{LOOPBACK}:{self.port + _MONITOR}/{path}", timeout=5) as page:
            return cast("dict[str, Any]", json.load(page))

    def healthy(self) -> bool:
        """Whether everything it stores is there and, in a cluster, up to date. Raises OSError if it is not there."""
        try:
            return bool(self.monitor("healthz")["status"] == "ok")
        except HTTPError:
            return False

    @property
    def store(self) -> Path:
        """The folder of what it stores."""
        return self.folder / "store"

    def backup(self, to: Path) -> None:
        """Write a copy of all data into the folder ``to``, which does not exist yet."""
        # A stream of one replica is in its files before it is acknowledged, and nothing changes them meanwhile.
        self.freeze()
        try:
            shutil.copytree(self.store, to)
        finally:
            self.thaw()

    def restore(self, backup: Path) -> None:
        """Put a copy back under the feet of whoever is connected: the server is killed and comes back with it."""
        self.kill()
        shutil.rmtree(self.store)
        shutil.copytree(backup, self.store)
        self.start()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.flavour.name} {self.name} on {self.port}>"

    @override
    def _command(self, *options: str) -> Sequence[str]:
        file = self.folder / "server.conf"
        # Values in the server's own notation may be JSON.
        lines = [f"{name}: {json.dumps(value)}" for name, value in self._configuration().items()]
        file.write_text("\n".join([*lines, self._lines]), encoding="utf-8")
        return [str(self.flavour.binary), "-c", str(file), *options]

    @override
    def _environment(self) -> Mapping[str, str]:
        return self.flavour.environment

    @override
    def _serves(self) -> bool:
        if "cluster" in self._settings:
            # Alone it has no quorum and is of no use: its cluster waits for it.
            self.monitor("varz")
            return True
        return self.healthy()

    def _configuration(self) -> dict[str, Any]:
        configuration: dict[str, Any] = {
            "server_name": self.name,
            "listen": f"{LOOPBACK}:{self.port}",
            "http": f"{LOOPBACK}:{self.port + _MONITOR}",
        }
        if self._jetstream is not False:
            configuration["jetstream"] = self._stores()
        if self.users:
            configuration["authorization"] = {"users": [self._user(*login) for login in self.users.items()]}
        if self.token is not None:
            configuration["authorization"] = {"token": self.token}
        if self.certificates is not None:
            configuration["tls"] = {
                "cert_file": str(self.certificates.certificate),
                "key_file": str(self.certificates.key),
                "ca_file": str(self.certificates.authority),
                "verify": self._mutual,
            }
        return configuration | self._settings

    def _stores(self) -> dict[str, Any]:
        stores: dict[str, Any] = {"store_dir": str(self.store), "max_mem": 2**28, "max_file": 2**33}
        if self._synchronous:
            stores["sync_interval"] = "always"
        return stores | (dict(self._jetstream) if isinstance(self._jetstream, Mapping) else {})

    def _user(self, name: str, password: str) -> dict[str, Any]:
        user: dict[str, Any] = {"user": name, "password": password}
        return user | ({"permissions": self._permissions[name]} if name in self._permissions else {})

    def _tls(self) -> ssl.SSLContext | None:
        if self.certificates is None:
            return None
        made = ssl.create_default_context(cafile=str(self.certificates.authority))
        made.load_cert_chain(self.certificates.certificate, self.certificates.key)
        return made


NOT_FOUND = 10059
"""JetStream's number for a stream that is not there."""


def store_url(servers: Sequence[NatsServer], **settings: str) -> str:
    """Return the URL of a store on these servers, which are alike."""
    first = servers[0]
    places = ",".join(f"{LOOPBACK}:{server.port}" for server in servers)
    if first.certificates is not None:
        settings = {"tls_ca": str(first.certificates.authority), **settings}
    query = f"?{urlencode(settings, quote_via=quote, safe='/')}" if settings else ""
    return f"{'nats' if first.certificates is None else 'tls'}://{first.login}{places}/{query}"
