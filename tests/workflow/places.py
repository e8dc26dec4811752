"""A database of each kind with the tables of Workflow Streams, and services on it as a process would open them."""

import secrets
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from tests.workflow.databases import Over

from tailrace import spi
from tailrace.options import EngineOptions, StoreOptions, parse_url
from tailrace.spi import Database
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.testing.servers.waiting import until
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import Run, StreamRef
from tailrace.workflow.settings import WorkflowSettings

B = TypeVar("B", bound=Database)

TABLES = (
    "workflow_items",
    "workflow_claims",
    "workflow_payloads",
    "workflow_holds",
    "workflow_streams",
    "workflow_runs",
    "graves",
)


class Place(ABC):
    """One database; services that are opened through it are closed with the case.

    Attributes:
        engine: Which kind.
        url: Where other processes find it.
    """

    engine: ClassVar[str]
    url: str

    def __init__(self) -> None:
        self._open: list[EmbeddedService] = []
        self._shared: EmbeddedService | None = None

    @property
    def shared(self) -> EmbeddedService:
        """A service that stays open from case to case."""
        if self._shared is None:
            self._shared = EmbeddedService(self.store())
        return self._shared

    def service(
        self,
        settings: WorkflowSettings | None = None,
        *,
        around: Callable[[Database], Database] | None = None,
        url: str = "",
        **options: Any,
    ) -> EmbeddedService:
        """Open a service.

        Args:
            around: Returns what stands between it and the database.
            url: Another way to the same database.
            options: Of the engine.
        """
        store = self.store(url)
        if around is not None:
            store = Over(store, around(store.database))
        service = EmbeddedService(store, settings, options=EngineOptions(**options))
        self._open.append(service)
        return service

    def behind(
        self, between: Callable[[Database], B], settings: WorkflowSettings | None = None, **options: Any
    ) -> tuple[EmbeddedService, B]:
        """Open a service; return it, and what stands between it and the database."""
        made: list[B] = []

        def around(database: Database) -> B:
            made.append(between(database))
            return made[0]

        return self.service(settings, around=around, **options), made[0]

    def store(self, url: str = "") -> Any:
        """Open a store."""
        return spi.open_store(parse_url(url or self.url), StoreOptions(create=True))

    def stream(self, name: str = "out") -> StreamRef:
        """Return a stream of a run that nobody has used."""
        return Run("default", "wf", f"run-{secrets.token_hex(6)}").stream(name)

    def empty(self) -> None:
        """Close what was opened, and remove everything."""
        while self._open:
            self._open.pop().close()
        self.execute(*(f"DELETE FROM {{{table}}}" for table in TABLES))

    def rest(self) -> None:
        """Close the service that is shared; the next case that wants it has another one."""
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.close()

    def close(self) -> None:
        """Let go of it."""
        self.rest()

    def count(self, table: str, where: str = "1 = 1") -> int:
        """Return how many rows there are."""
        return int(self.execute(f"SELECT count(*) FROM {{{table}}} WHERE {where}")[0][0])

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Perform statements over a connection of their own, ``{workflow_items}`` standing for a table.

        Returns the rows of the last one.
        """
        with closing(self.connect()) as connection, closing(connection.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement.format(**{table: self.named(table) for table in TABLES}))
            return [*cursor.fetchall()] if cursor.description else []

    @abstractmethod
    def connect(self) -> Any:
        """Open a connection that commits every statement."""

    @abstractmethod
    def named(self, table: str) -> str:
        """Return the name of a table."""

    @contextmanager
    def held(self, topic: str) -> Iterator[Any]:
        """Keep a stream locked on a server, as an append of somebody else does; yield the cursor of his transaction."""
        name = f"'\\x{topic.encode().hex()}'::bytea" if self.engine == "postgres" else f"'{topic}'"
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            if self.engine == "mariadb":
                # Or the space beside it would be locked as well, which nobody of ours does.
                cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            cursor.execute("BEGIN")
            cursor.execute(f"SELECT id FROM {self.named('workflow_streams')} WHERE name = {name} FOR UPDATE")
            yield cursor
            cursor.execute("ROLLBACK")

    @abstractmethod
    def somebody_waits(self) -> bool:
        """Return whether somebody waits for what another one has locked."""

    def until_somebody_waits(self) -> None:
        """Block until that is so."""
        # MariaDB answers from what it saw last time to whoever asks again within a tenth of a second.
        until(self.somebody_waits, "somebody waits for a lock", step=0.15)


class SqlitePlace(Place):
    """A file."""

    engine = "sqlite"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / "workflow.db"
        self.url = f"sqlite:///{self.path}?synchronous=normal"
        self.store().close()

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=30, isolation_level=None)

    def named(self, table: str) -> str:
        return "tombstones" if table == "graves" else table

    def somebody_waits(self) -> bool:
        gate = Path(f"{self.path}-gate").stat().st_ino
        return any("->" in line and f":{gate} " in line for line in Path("/proc/locks").read_text().splitlines())


class ServerPlace(Place):
    """A database on a server."""

    waits: ClassVar[str]
    """Finds whoever waits for a lock."""

    def __init__(self, server: PostgresServer | MariadbServer) -> None:
        super().__init__()
        self.server = server
        self.database = server.create_database()
        self.url = server.url(self.database)
        self.store().close()

    def connect(self) -> Any:
        return self.server.connect(self.database)

    def somebody_waits(self) -> bool:
        return bool(self.server.execute(self.waits, database=self.database))


class PostgresPlace(ServerPlace):
    """A database of PostgreSQL."""

    engine = "postgres"
    waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"

    def named(self, table: str) -> str:
        return f"tailrace.{table}"


class MariadbPlace(ServerPlace):
    """A database of MariaDB."""

    engine = "mariadb"
    waits = "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"

    def named(self, table: str) -> str:
        return f"tailrace_{table}"
