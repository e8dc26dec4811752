"""What the servers of databases have in common: a superuser, settings by name, TLS, and a URL for each database."""

import secrets
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeAlias
from urllib.parse import quote, urlencode

from tailrace.testing.servers.accounts import Account
from tailrace.testing.servers.certificates import Certificates
from tailrace.testing.servers.node import ServerNode
from tailrace.testing.servers.ports import LOOPBACK

Settings: TypeAlias = Mapping[str, str | int | bool]


class SqlServer(ServerNode):
    """One server. A context manager that starts and removes it; not thread-safe.

    Args:
        kind: A word for the names of folders.
        synchronous: Whether commits wait for the disk.
        password: Of the superuser.
        tls: Whether it speaks TLS on its port, and refuses whoever does not.
        settings: Any other setting of the server, by name.

    Attributes:
        password: Of the superuser.
        certificates: Of its port; ``None`` if it does not speak TLS.
    """

    superuser: ClassVar[str]

    def __init__(
        self, kind: str, *, synchronous: bool, password: str | None, tls: bool, settings: Settings | None
    ) -> None:
        super().__init__(kind, account=Account.for_servers())
        self.password = password
        self.certificates: Certificates | None = None
        self._synchronous = synchronous
        self._settings = dict(settings or {})
        try:
            if tls:
                self.certificates = Certificates.make(self.folder)
            if self._account is not None:
                self._account.give(self.folder)
        except BaseException:
            self.close()
            raise

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @abstractmethod
    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Perform one statement as the superuser, over a new connection; return its rows."""

    def create_database(self, name: str | None = None, *, options: str = "") -> str:
        """Create a database, of a name that nobody else has if none is given; return its name.

        Args:
            options: As the statement takes them, such as ``CHARACTER SET latin1``.
        """
        name = name or f"test_{secrets.token_hex(4)}"
        self.execute(f"CREATE DATABASE {self._quoted(name)} {options}")
        return name

    def _url(self, scheme: str, database: str, user: str, password: str | None, more: Mapping[str, str]) -> str:
        """Return a URL.

        Args:
            password: Of a user other than the superuser, if it has one.
        """
        secret = self.password if password is None and user == self.superuser else password
        login = quote(user, safe="") + ("" if secret is None else f":{quote(secret, safe='')}")
        query = f"?{urlencode(more, quote_via=quote, safe='/')}" if more else ""
        return f"{scheme}://{login}@{LOOPBACK}:{self.port}/{quote(database, safe='')}{query}"

    @abstractmethod
    def _quoted(self, name: str) -> str:
        """Return a name as it stands in a statement."""
