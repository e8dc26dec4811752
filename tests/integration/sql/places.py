"""A database of an application's own, with the tables of a store in it, on either kind of server."""

from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeAlias

import psycopg
import pymysql
import sqlalchemy

import tailrace
from tailrace import spi
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.testing.servers.waiting import until

Server: TypeAlias = PostgresServer | MariadbServer


class Place:
    """One database; what is opened through it is closed with it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.postgres = isinstance(server, PostgresServer)
        self.name = server.create_database()
        self.url = server.url(self.name)
        self.closing: list[Callable[[], object]] = []
        self.make()

    def make(self) -> None:
        """Make the tables of the store, and one of the application."""
        spi.open_store(parse_url(self.url), StoreOptions(create=True)).close()
        with closing(self.connection()) as connection:
            connection.cursor().execute("CREATE TABLE orders (id int)")
            connection.commit()

    def client(self, **options: Any) -> tailrace.StreamClient:
        """Connect as a process would."""
        client = tailrace.connect(self.url, **options)
        self.closing.append(client.close)
        return client

    def connection(self, database: str | None = None, *, server: Server | None = None, **more: Any) -> Any:
        """Open a connection of the application, which begins a transaction with its first statement."""
        server = server or self.server
        if isinstance(server, PostgresServer):
            connection: Any = psycopg.connect(server.url(database or self.name), **more)
        else:
            connection = pymysql.connect(
                host="127.0.0.1", port=server.port, user="root", database=database or self.name, **more
            )
        # Rolled back at the end of a test that failed, or nobody could drop the database.
        self.closing.append(lambda: connection.close() if getattr(connection, "open", True) else None)
        return connection

    def engine(self, *, url: str = "", **more: Any) -> sqlalchemy.Engine:
        """Make an engine of SQLAlchemy."""
        engine = sqlalchemy.create_engine(url or self.alchemy(), **more)
        self.closing.append(engine.dispose)
        return engine

    def alchemy(self) -> str:
        """Return the URL as SQLAlchemy takes it."""
        place = self.url.partition("://")[2]
        return f"postgresql+psycopg://{place}" if self.postgres else f"mysql+pymysql://{place}"

    def other_database(self) -> str:
        """Make another one, with the tables of another store."""
        other = self.server.create_database()
        self.closing.append(lambda: self.server.drop_database(other))
        spi.open_store(parse_url(self.server.url(other)), StoreOptions(create=True)).close()
        return other

    def orders(self) -> int:
        """Count the application's own rows."""
        ((count,),) = self.server.execute("SELECT count(*) FROM orders", database=self.name)
        return int(count)

    def until_somebody_waits(self) -> None:
        """Return once a statement waits for a lock."""
        statement = (
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            if self.postgres
            else "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
        )
        # MariaDB answers from what it saw last time to whoever asks again within a tenth of a second.
        until(lambda: bool(self.server.execute(statement, database=self.name)), "somebody waits for a lock", step=0.15)

    def close(self) -> None:
        """Close everything, and remove it."""
        while self.closing:
            self.closing.pop()()
        self.server.drop_database(self.name)


def order(connection: Any) -> None:
    """Do some work of the application."""
    with closing(connection.cursor()) as cursor:
        cursor.execute("INSERT INTO orders VALUES (1)")


def contents(client: tailrace.StreamClient, topic: str) -> list[bytes]:
    """Return what can be read now."""
    found = []
    with client.topic(topic).subscribe_from_beginning() as subscription:
        while isinstance(record := subscription.receive(timeout=0.2), tailrace.DurableStreamRecord):
            found.append(record.payload)
    return found
