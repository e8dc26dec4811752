"""One MariaDB server."""

import contextlib
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from tailrace.testing.servers.errors import ServerMissingError
from tailrace.testing.servers.mariadb import datadir
from tailrace.testing.servers.mariadb.datadir import SUPERUSER, Installed
from tailrace.testing.servers.mariadb.flavours import Flavour, flavour
from tailrace.testing.servers.ports import LOOPBACK
from tailrace.testing.servers.sql_server import Settings, SqlServer
from tailrace.testing.servers.waiting import until

if TYPE_CHECKING:
    import pymysql


class MariadbServer(SqlServer):
    """A server on a free port of the loopback. A context manager that starts and removes it; not thread-safe.

    As root it becomes a user without rights.

    Args:
        kind: Which program; without one, what :func:`flavour` chooses.
        synchronous: Whether commits wait for the disk. Without it they survive the end of every process, and only not
            the machine's: enough for tests, and much faster.
        password: Of the superuser ``root``.
        tls: Whether it speaks TLS on its port, and refuses whoever does not.
        settings: Any other option of the server, by name.

    Raises:
        ServerMissingError: There is no such server here.
    """

    superuser = SUPERUSER

    def __init__(
        self,
        kind: Flavour | None = None,
        *,
        synchronous: bool = False,
        password: str | None = None,
        tls: bool = False,
        settings: Settings | None = None,
    ) -> None:
        self.flavour = kind or flavour()
        super().__init__("mariadb", synchronous=synchronous, password=password, tls=tls, settings=settings)
        self._installed = Installed.of(self.flavour, self._account)

    @property
    def unix_socket(self) -> Path:
        """Where it also listens; the superuser needs no TLS there."""
        return self.folder / "mariadb.sock"

    def url(self, database: str = "", user: str = SUPERUSER, password: str | None = None, **more: str) -> str:
        """Return the URL of a store in a database.

        Args:
            password: Of a user other than the superuser, if it has one.
            more: Further settings of the URL.
        """
        if self.certificates is not None:
            more = {"ssl_ca": str(self.certificates.authority), **more}
        return self._url("mariadb", database, user, password, more)

    def connect(self, database: str | None = None) -> "pymysql.Connection[Any]":
        """Open a connection as the superuser, that commits every statement.

        Raises:
            OSError: It is not there.
            ServerMissingError: The driver is not installed.
        """
        try:
            import pymysql
        except ImportError as missing:
            raise ServerMissingError("talking to MariaDB needs PyMySQL: pip install PyMySQL") from missing
        try:
            return pymysql.connect(
                unix_socket=str(self.unix_socket),
                ssl_disabled=True,
                user=SUPERUSER,
                password=self.password or "",
                database=database,
                autocommit=True,
            )
        except pymysql.OperationalError as refused:
            raise ConnectionError(str(refused)) from refused

    @override
    def execute(self, statement: str, values: Sequence[object] = (), *, database: str | None = None) -> list[Any]:
        """Perform one statement as the superuser, over a new connection; return its rows."""
        with contextlib.closing(self.connect(database)) as connection, connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall())

    def drop_database(self, name: str) -> None:
        """Remove a database."""
        self.execute(f"DROP DATABASE IF EXISTS {self._quoted(name)}")

    def create_user(self, name: str, password: str = "") -> str:
        """Create a user who may log in from here, and nothing else; return its name."""
        self.execute("CREATE USER %s@'127.0.0.1' IDENTIFIED BY %s", (name, password))
        return name

    @override
    def start(self, *options: str) -> None:
        first = not self._started_once
        super().start(*options)
        if first and self.password is not None:
            secret, self.password = self.password, None
            try:
                self.execute("SET PASSWORD FOR 'root'@'127.0.0.1' = PASSWORD(%s)", (secret,))
                self.execute("SET PASSWORD FOR 'root'@'localhost' = PASSWORD(%s)", (secret,))
            finally:
                self.password = secret

    @override
    def freeze(self) -> None:
        super().freeze()
        # The signal stops one thread after the other; one that is quick would still answer.
        until(lambda: all(_stopped(task) for task in Path(f"/proc/{self.pid}/task").iterdir()), f"{self!r} hangs")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.flavour.name} on {self.port}>"

    @override
    def _command(self, *options: str) -> Sequence[str]:
        if not self.data.exists():
            datadir.create(self.data, self.flavour, self._account)
        settings = {**self._options(), **self._settings}
        lines = [f"{name.replace('_', '-')}={_value(value)}" for name, value in settings.items()]
        return [str(self._installed.program), "--no-defaults", *(f"--{line}" for line in lines), *options]

    @override
    def _quoted(self, name: str) -> str:
        doubled = name.replace("`", "``")
        return f"`{doubled}`"

    @override
    def _environment(self) -> Mapping[str, str]:
        return self._installed.environment

    @override
    def _serves(self) -> bool:
        # The file says whose it is, which tells a new one from what a killed one left.
        if (self.folder / "mariadb.pid").read_text(encoding="utf-8").strip() != str(self.pid):
            return False
        with socket.create_connection(self.address, timeout=2.0) as greeted:
            return bool(greeted.recv(1))

    def _options(self) -> dict[str, str | int | bool]:
        options: dict[str, str | int | bool] = {
            "basedir": str(self._installed.base),
            "datadir": str(self.data),
            "port": self.port,
            "bind_address": LOOPBACK,
            "socket": str(self.unix_socket),
            "pid_file": str(self.folder / "mariadb.pid"),
            # A server that starts removes every temporary table that it finds there, whosever it is.
            "tmpdir": str(self.folder),
            "innodb_flush_log_at_trx_commit": 1 if self._synchronous else 2,
            "innodb_log_file_size": "32M",
            "innodb_buffer_pool_size": "64M",
        }
        if self.certificates is not None:
            options |= {
                "require_secure_transport": True,
                "ssl_ca": str(self.certificates.authority),
                "ssl_cert": str(self.certificates.certificate),
                "ssl_key": str(self.certificates.key),
            }
        return options


def _stopped(task: Path) -> bool:
    return (task / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T"


def _value(value: str | int | bool) -> str:
    return ("ON" if value else "OFF") if isinstance(value, bool) else str(value)
