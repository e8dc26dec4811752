"""PgBouncer in front of a server: a pooler that lends a connection for as long as a transaction takes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from typing_extensions import override

from tailrace.testing.servers import debian
from tailrace.testing.servers.accounts import Account, within_reach
from tailrace.testing.servers.errors import ServerMissingError
from tailrace.testing.servers.node import ServerNode
from tailrace.testing.servers.ports import LOOPBACK
from tailrace.testing.servers.postgres.clusters import SUPERUSER
from tailrace.testing.servers.postgres.server import PostgresServer
from tailrace.testing.servers.wheels import programs_on_path

_NAME = "pgbouncer"
_INSTALL = "run `make servers`, or install pgbouncer from your distribution"


class PgBouncer(ServerNode):
    """A pooler on a free port of the loopback. A context manager that starts and removes it; not thread-safe.

    Lets everybody in as who they say they are, as ``server`` does without passwords and TLS.

    Args:
        server: What is behind it; started by the caller.
        mode: ``transaction``, ``session`` or ``statement``.
        users: Who may come, besides the superuser.
        settings: Any other setting of its file.

    Raises:
        ServerMissingError: There is no PgBouncer here.
    """

    def __init__(
        self,
        server: PostgresServer,
        *,
        mode: str = "transaction",
        users: Sequence[str] = (),
        settings: Mapping[str, str | int] | None = None,
    ) -> None:
        program = _find()
        super().__init__(_NAME, account=Account.for_servers())
        self._server = server
        self._mode = mode
        self._users = (SUPERUSER, *users)
        self._settings = dict(settings or {})
        self._printed = 0
        top = debian.root(_NAME) if program.is_relative_to(debian.home()) else program.parent
        self._program = within_reach(program, top, self._account)
        self._variables = {} if top == program.parent else debian.library_path(_stem(self._program, program, top))

    def url(self, database: str = "postgres", user: str = SUPERUSER) -> str:
        """Return where libpq finds a database through it."""
        return f"postgresql://{quote(user, safe='')}@{LOOPBACK}:{self.port}/{quote(database, safe='')}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {self.port} before {self._server!r}>"

    @override
    def _command(self, *options: str) -> Sequence[str]:
        users = "".join(f'"{user}" ""\n' for user in self._users)
        (self.folder / "users.txt").write_text(users, encoding="utf-8")
        file = self.folder / "pgbouncer.ini"
        file.write_text("\n".join(self._lines()) + "\n", encoding="utf-8")
        if self._account is not None:
            self._account.give(self.folder)
        self._printed = self.log.stat().st_size if self.log.exists() else 0
        return [str(self._program), *options, str(file)]

    @override
    def _environment(self) -> Mapping[str, str]:
        return self._variables

    @override
    def _serves(self) -> bool:
        return b"process up: PgBouncer" in self.log.read_bytes()[self._printed :]

    def _lines(self) -> Sequence[str]:
        settings: dict[str, str | int] = {
            "listen_addr": LOOPBACK,
            "listen_port": self.port,
            "unix_socket_dir": str(self.folder),
            "auth_type": "trust",
            "auth_file": str(self.folder / "users.txt"),
            "pool_mode": self._mode,
            **self._settings,
        }
        behind = f"* = host={LOOPBACK} port={self._server.port}"
        return ["[databases]", behind, "[pgbouncer]", *(f"{name} = {value}" for name, value in settings.items())]


def _find() -> Path:
    for program in (*debian.programs(_NAME), *programs_on_path(_NAME), Path("/usr/sbin", _NAME)):
        if program.is_file():
            return program
    raise ServerMissingError(f"no pgbouncer is here: {_INSTALL}")


def _stem(placed: Path, program: Path, top: Path) -> Path:
    return Path(str(placed).removesuffix(str(program.relative_to(top))))
