"""One PostgreSQL server."""

import signal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from tailrace.testing.servers.errors import ServerMissingError
from tailrace.testing.servers.families import children, runs, signal_all
from tailrace.testing.servers.ports import LOOPBACK
from tailrace.testing.servers.postgres import clusters
from tailrace.testing.servers.postgres.clusters import SUPERUSER
from tailrace.testing.servers.postgres.flavours import Flavour, flavour
from tailrace.testing.servers.sql_server import Settings, SqlServer
from tailrace.testing.servers.waiting import until

if TYPE_CHECKING:
    import psycopg

_STATE_LINE = 7


class PostgresServer(SqlServer):
    """A server on a free port of the loopback. A context manager that starts and removes it; not thread-safe.

    As root it becomes a user without rights.

    Args:
        kind: Which program; without one, what :func:`flavour` chooses.
        synchronous: Whether commits wait for the disk. Without it they survive the end of every process, and only not
            the machine's: enough for tests, and much faster.
        password: Of the superuser ``postgres``. With one, everybody who comes over TCP is asked for theirs.
        tls: Whether it speaks TLS on its port, and refuses whoever does not.
        settings: Any other parameter, by name.

    Raises:
        ServerMissingError: There is no such server here, or none that can do what is asked.
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
        self.flavour = kind or flavour(tls=tls)
        if tls and not self.flavour.tls:
            raise ServerMissingError(f"{self.flavour} was not built with TLS")
        super().__init__("postgres", synchronous=synchronous, password=password, tls=tls, settings=settings)
        self._program = clusters.program(self.flavour, "postgres", self._account)

    def url(self, database: str = "postgres", user: str = SUPERUSER, password: str | None = None, **more: str) -> str:
        """Return where libpq finds a database over TCP.

        Args:
            password: Of a user other than the superuser, if it has one.
            more: Further parameters of the URL.
        """
        if self.certificates is not None:
            more = {"sslmode": "verify-full", "sslrootcert": str(self.certificates.authority), **more}
        return self._url("postgresql", database, user, password, more)

    def connect(self, database: str = "postgres") -> "psycopg.Connection[Any]":
        """Open a connection as the superuser, without a password, that commits every statement.

        Raises:
            OSError: It is not there.
            ServerMissingError: The driver is not installed.
        """
        try:
            import psycopg
        except ImportError as missing:
            raise ServerMissingError("talking to PostgreSQL needs psycopg: pip install 'psycopg[binary]'") from missing
        try:
            return psycopg.connect(
                host=str(self.folder), port=self.port, user=SUPERUSER, dbname=database, autocommit=True
            )
        except psycopg.OperationalError as refused:
            raise ConnectionError(str(refused)) from refused

    @override
    def execute(self, statement: str, values: Sequence[object] = (), *, database: str = "postgres") -> list[Any]:
        """Perform one statement as the superuser, over a new connection; return its rows."""
        with self.connect(database) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def drop_database(self, name: str) -> None:
        """Remove a database; whoever is connected to it is thrown out."""
        self.execute(f"DROP DATABASE IF EXISTS {self._quoted(name)} WITH (FORCE)")

    def create_role(self, name: str, password: str | None = None, *, options: str = "") -> str:
        """Create a role that may log in, and nothing else; return its name.

        Args:
            options: Such as ``CONNECTION LIMIT 3``.
        """
        secret = "" if password is None else f"PASSWORD {literal(password)}"
        self.execute(f"CREATE ROLE {self._quoted(name)} LOGIN {secret} {options}")
        return name

    @override
    def start(self, *options: str) -> None:
        super().start(*options)
        if self.password is not None:
            self.execute(f"ALTER ROLE {SUPERUSER} PASSWORD {literal(self.password)}")

    @override
    def stop(self) -> None:
        if self._process is not None:
            # The polite request would wait for everybody to leave.
            self._process.terminate(how=signal.SIGINT)

    @override
    def kill(self) -> None:
        """End all its processes at once, as the machine's end would. What has been written to files stays."""
        if self.alive:
            # One that is stopped starts no further ones while they are counted.
            self._once_started.signal(signal.SIGSTOP)
            family = children(self.pid)
            signal_all(family, signal.SIGKILL)
            super().kill()
            # Their memory is shared: a successor refuses to start while one of them lives.
            until(lambda: not any(map(runs, family)), f"all of {self!r} have ended")

    @override
    def freeze(self) -> None:
        super().freeze()
        signal_all(children(self.pid), signal.SIGSTOP)

    @override
    def thaw(self) -> None:
        signal_all(children(self.pid), signal.SIGCONT)
        super().thaw()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.flavour.name} on {self.port}>"

    @override
    def _command(self, *options: str) -> Sequence[str]:
        if not self.data.exists():
            clusters.create(self.data, self.flavour, self._account)
            (self.data / "pg_hba.conf").write_text("".join(f"{line}\n" for line in self._access()), encoding="utf-8")
        parameters = {name: _value(value) for name, value in {**self._parameters(), **self._settings}.items()}
        return [
            str(self._program),
            *("-D", str(self.data)),
            *(word for name, value in parameters.items() for word in ("-c", f"{name}={value}")),
            *options,
        ]

    @override
    def _quoted(self, name: str) -> str:
        doubled = name.replace('"', '""')
        return f'"{doubled}"'

    @override
    def _environment(self) -> Mapping[str, str]:
        return clusters.environment(self.flavour, self._program)

    @override
    def _serves(self) -> bool:
        # As pg_ctl does: the file says whose it is, which tells a new one from what a killed one left.
        lines = (self.data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        return len(lines) > _STATE_LINE and lines[0] == str(self.pid) and lines[_STATE_LINE].strip() == "ready"

    def _parameters(self) -> dict[str, str | int | bool]:
        parameters: dict[str, str | int | bool] = {
            "port": self.port,
            "listen_addresses": LOOPBACK,
            "unix_socket_directories": str(self.folder),
            "fsync": self._synchronous,
            # Its compiler comes in a package of its own, and is of no use to short statements.
            "jit": False,
            # Lines of the log are for whoever reads why it failed.
            "log_line_prefix": "%m [%p] %a ",
        }
        if self.certificates is not None:
            parameters |= {
                "ssl": True,
                "ssl_cert_file": str(self.certificates.certificate),
                "ssl_key_file": str(self.certificates.key),
            }
        return parameters

    def _access(self) -> Sequence[str]:
        kind = "host" if self.certificates is None else "hostssl"
        method = "trust" if self.password is None else "scram-sha-256"
        return "local all all trust", *(f"{kind} {what} all {LOOPBACK}/32 {method}" for what in ("all", "replication"))


def literal(text: str) -> str:
    """Return a text as it stands in a statement that takes no values."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _value(value: str | int | bool) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
