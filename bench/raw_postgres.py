"""The other side of the PostgreSQL benches: the same driver, statements, tables' shape and server, and nothing else."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.types.numeric import Int8

import tailrace
from tailrace import StreamClient
from tailrace.backends.postgres.statements import for_tables
from tailrace.backends.postgres.tables import Tables
from tailrace.testing.servers.postgres import PostgresServer

SCHEMA = "tailrace"


@dataclass
class Raw:
    """Bare connections to the same tables."""

    server: PostgresServer
    opened: ExitStack

    def connect(self) -> "psycopg.Connection[Any]":
        """Open one that commits every statement."""
        connection = psycopg.connect(self.server.url(), autocommit=True)
        # As ours: no plan that was made for small tables reads them whole later.
        connection.execute("SET enable_seqscan = off")
        return self.opened.enter_context(connection)

    def writer(self, topic: str, payload: bytes, *, patient: bool) -> Callable[[], None]:
        """Return what stores one record by the statement that our store uses.

        Args:
            patient: Whether it waits for others on the same topic; the other form would store nothing then.
        """
        statement = for_tables(Tables(SCHEMA, ""), patient=patient).grow
        values = {
            "name": topic.encode(),
            "count": Int8(1),
            "tag": Int8(1),
            "size": Int8(len(payload)),
            "largest": Int8(len(payload)),
            "payloads": [payload],
            "patience": "10000",
        }
        cursor = self.connect().cursor(binary=True)

        def write() -> None:
            if len(cursor.execute(statement, values, prepare=True).fetchall()) != 1:
                raise AssertionError("nothing was stored")

        return write


@contextmanager
def both() -> Iterator[tuple[StreamClient, Raw]]:
    """Run a server whose commits wait for the disk; give back our client and bare connections."""
    with PostgresServer(synchronous=True) as server, ExitStack() as opened:
        with tailrace.connect(server.url(), create=True) as streams:
            yield streams, Raw(server, opened)
