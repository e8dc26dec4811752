"""A PostgreSQL server that tests share, and a store on it with tables of its own for each case."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from psycopg import sql

from tailrace import spi
from tailrace.backends.postgres import schema
from tailrace.backends.postgres.location import locate
from tailrace.backends.postgres.session import Session
from tailrace.backends.postgres.tables import Tables
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.testing.stores import StoreUnderTest

_COPIED = ("topics", "records", "graves", "remains")


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Run a server on a free port."""
    with PostgresServer() as server:
        yield server


class PostgresUnderTest(StoreUnderTest):
    """A schema of its own on a server."""

    name = "postgres"

    def __init__(self, server: PostgresServer) -> None:
        super().__init__()
        self.server = server
        self.schema = self._prefix.rstrip("-")
        session = Session(locate(parse_url(self.url())))
        schema.migrate(session, Tables(self.schema, ""), 60.0)
        session.close()

    def url(self) -> str:
        return self.server.url(schema=self.schema)

    def open(self, options: StoreOptions | None = None) -> spi.Backend:
        return spi.open_store(parse_url(self.url()), options or StoreOptions())

    def backup(self) -> object:
        with self.server.connect() as connection, connection.cursor() as cursor:
            saved = {}
            for table in _COPIED:
                with cursor.copy(sql.SQL("COPY {} TO STDOUT").format(self._table(table))) as copy:
                    saved[table] = b"".join(map(bytes, copy))
            return saved

    def restore(self, backup: object) -> None:
        assert isinstance(backup, Mapping)
        # At once: whoever is connected sees the old rows or the new ones.
        with self.server.connect() as connection, connection.transaction(), connection.cursor() as cursor:
            for table, saved in backup.items():
                cursor.execute(sql.SQL("DELETE FROM {}").format(self._table(table)))
                with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(self._table(table))) as copy:
                    copy.write(saved)

    @contextmanager
    def hold(self, topic: str) -> Iterator[None]:
        with self.server.connect() as connection, connection.transaction():
            look = sql.SQL("SELECT 1 FROM {} WHERE name = %s FOR UPDATE").format(self._table("topics"))
            assert connection.execute(look, [topic.encode()]).fetchall() == [(1,)]
            yield

    def close(self) -> None:
        super().close()
        self.server.execute(f'DROP SCHEMA IF EXISTS "{self.schema}" CASCADE')

    def _table(self, name: str) -> sql.Identifier:
        return sql.Identifier(self.schema, name)
