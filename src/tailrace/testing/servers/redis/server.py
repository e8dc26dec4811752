"""One Redis or Valkey server, alone, or as a part of something larger."""

import ssl
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import quote

from tailrace.testing.servers.certificates import Certificates
from tailrace.testing.servers.errors import ServerMissingError
from tailrace.testing.servers.redis import backups, encryption
from tailrace.testing.servers.redis.flavours import Flavour, flavour
from tailrace.testing.servers.redis.node import RedisNode

Settings: TypeAlias = Mapping[str, str | int | Sequence[str]]
Aof: TypeAlias = Literal["no", "everysec", "always"]

_NOTHING = '""'


class RedisServer(RedisNode):
    """A server on a free port of the loopback. A context manager that starts and removes it; not thread-safe.

    Args:
        kind: Which program; without one, what :func:`flavour` chooses.
        aof: Whether and how often the append-only file is synchronised. With ``no`` nothing survives the process,
            unless ``settings`` has a ``save``.
        password: Of the default user, without spaces if there is an ``acl``; ``None`` lets everybody in.
        acl: Further users, as lines of an ACL file: ``user reader on >secret ~app:* +@read``.
        tls: Whether it speaks TLS, and nothing else, on its port; with the certificates of another server if it is
            these. With the setting ``tls-auth-clients yes`` it wants one of its clients too.
        unix_socket: Whether it also listens on a socket in its folder.
        settings: Any other directive of the configuration file, as it stands there; a sequence repeats it.

    Raises:
        ServerMissingError: There is no such server here, or none that can do what is asked.
    """

    def __init__(
        self,
        kind: Flavour | None = None,
        *,
        aof: Aof = "no",
        password: str | None = None,
        acl: Sequence[str] = (),
        tls: bool | Certificates = False,
        unix_socket: bool = False,
        settings: Settings | None = None,
    ) -> None:
        settings = settings or {}
        kind = kind or flavour(tls=bool(tls))
        if tls and not kind.tls:
            raise ServerMissingError(f"{kind} was not built with TLS")
        super().__init__(kind, password=password, bus=settings.get("cluster-enabled") == "yes")
        self.aof: Aof = aof
        self.unix_socket = self.folder / "redis.sock" if unix_socket else None
        self.certificates = tls if isinstance(tls, Certificates) else None
        self._acl = tuple(acl)
        self._settings = dict(settings)
        if tls is True:
            try:
                self.certificates = Certificates.make(self.folder)
            except BaseException:
                self.close()
                raise

    @property
    def url(self) -> str:
        """Where redis-py's ``from_url`` finds it, as the default user, over TCP."""
        return self.url_for()

    def url_for(self, user: str = "", password: str | None = None, database: int = 0) -> str:
        """Return the URL of another user, or of another database."""
        secret = self.password if password is None else password
        login = "" if secret is None else f"{quote(user, safe='')}:{quote(secret, safe='')}@"
        if self.certificates is None:
            return f"redis://{login}127.0.0.1:{self.port}/{database}"
        settings = encryption.settings(self.certificates, mutual=self._settings.get("tls-auth-clients") == "yes")
        return f"rediss://{login}127.0.0.1:{self.port}/{database}?{settings}"

    @property
    def unix_url(self) -> str:
        """Where redis-py's ``from_url`` finds it over its unix socket."""
        assert self.unix_socket is not None, "it has no unix socket"
        login = "" if self.password is None else f":{quote(self.password, safe='')}@"
        return f"unix://{login}{self.unix_socket}?db=0"

    def configure(self, name: str, value: str | int) -> None:
        """Change a directive, now and for later starts."""
        self.call("CONFIG", "SET", name, value)
        self.call("CONFIG", "REWRITE")

    def backup(self, to: Path) -> None:
        """Write a copy of all data into the file ``to``, as an operator would make it.

        The snapshot stays in the server's folder too: one without an append-only file starts with it.
        """
        backups.take(self, to)

    def restore(self, backup: Path) -> None:
        """Put a copy back under the feet of whoever is connected: the server is killed and comes back with it."""
        backups.put_back(self, backup)

    def _configuration(self) -> Iterable[str]:
        if self._acl:
            # An ACL file takes the place of requirepass, and of the default user that lets everybody in.
            secret = "nopass" if self.password is None else f">{self.password}"
            default = f"user default on {secret} ~* &* +@all"
            (self.folder / "users.acl").write_text("\n".join((default, *self._acl)) + "\n", encoding="utf-8")
        for name, value in self._directives().items():
            for line in [value] if isinstance(value, str | int) else value:
                yield f"{name} {_NOTHING if line == '' else line}"

    def _directives(self) -> dict[str, str | int | Sequence[str]]:
        directives: dict[str, str | int | Sequence[str]] = {
            "bind": "127.0.0.1",
            "port": self.port,
            "dir": str(self.folder),
            "save": "",
            "appendonly": "no" if self.aof == "no" else "yes",
            "appendfsync": "everysec" if self.aof == "no" else self.aof,
        }
        if self.flavour.version >= (7, 0, 0):
            directives["enable-debug-command"] = "yes"
        if self.password is not None:
            directives["masterauth"] = _quoted(self.password)
            if not self._acl:
                directives["requirepass"] = _quoted(self.password)
        if self._acl:
            directives["aclfile"] = str(self.folder / "users.acl")
        if self.unix_socket is not None:
            directives["unixsocket"] = str(self.unix_socket)
        if self.certificates is not None:
            directives |= encryption.directives(self.certificates, self.port)
        return directives | self._settings

    def _tls(self) -> ssl.SSLContext | None:
        return None if self.certificates is None else encryption.context(self.certificates)


def alike(
    count: int, kind: Flavour, *, password: str | None, aof: Aof, tls: bool, settings: Settings
) -> list[RedisServer]:
    """Make so many servers, which trust each other's certificates if they speak TLS. None of them is started."""
    first = RedisServer(kind, password=password, aof=aof, tls=tls, settings=settings)
    shared = first.certificates or False
    others = [RedisServer(kind, password=password, aof=aof, tls=shared, settings=settings) for _ in range(count - 1)]
    return [first, *others]


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
