"""A MariaDB server that tests share, and a store on it that each case finds empty."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from tailrace import spi
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.stores import StoreUnderTest

DATABASE = "kit"
TABLES = ("topics", "records", "graves", "remains")


@contextmanager
def mariadb_server(**settings: str) -> Iterator[MariadbServer]:
    """Run a server on a free port."""
    with MariadbServer(settings=settings) as server:
        yield server


class MysqlUnderTest(StoreUnderTest):
    """A database of a server, emptied after each case: to make the tables anew would take most of the time."""

    name = "mysql"

    def __init__(self, server: MariadbServer, **more: str) -> None:
        super().__init__()
        self._server = server
        self._more = more
        self._copies = 0
        self.database = DATABASE
        if not server.execute("SHOW DATABASES LIKE %s", [DATABASE]):
            server.create_database(DATABASE)
            spi.open_store(parse_url(self.url()), StoreOptions(create=True)).close()

    def url(self) -> str:
        return self._server.url(self.database, **self._more)

    def open(self, options: StoreOptions | None = None) -> spi.Backend:
        return spi.open_store(parse_url(self.url()), options or StoreOptions())

    def backup(self) -> object:
        self._copies += 1
        for table in TABLES:
            self._execute(f"CREATE TABLE copy{self._copies}_{table} SELECT * FROM tailrace_{table}")
        return self._copies

    def restore(self, backup: object) -> None:
        # At once: whoever is connected sees the old rows or the new ones.
        statements = [
            statement
            for table in TABLES
            for statement in (
                f"DELETE FROM tailrace_{table}",
                f"INSERT INTO tailrace_{table} SELECT * FROM copy{backup}_{table}",
            )
        ]
        self._execute("BEGIN", *statements, "COMMIT")

    @contextmanager
    def hold(self, topic: str) -> Iterator[None]:
        with closing(self._server.connect(self.database)) as connection, connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            cursor.execute("BEGIN")
            cursor.execute("SELECT 1 FROM tailrace_topics WHERE name = %s FOR UPDATE", [topic.encode()])
            assert cursor.fetchall() == ((1,),)
            yield
            cursor.execute("ROLLBACK")

    def close(self) -> None:
        super().close()
        copies = [f"DROP TABLE copy{copy + 1}_{table}" for copy in range(self._copies) for table in TABLES]
        self._execute(*copies, *(f"DELETE FROM tailrace_{table}" for table in TABLES))

    def _execute(self, *statements: str) -> None:
        with closing(self._server.connect(self.database)) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
