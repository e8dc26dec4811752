"""The other side of the MySQL benches: the same driver, server and statements, without a seal, a history or a gap."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pymysql

import tailrace
from tailrace import StreamClient
from tailrace.testing.servers.mariadb import MariadbServer

PAYLOAD = b"x" * 200

SELECT = "SELECT id, incarnation, last_position, largest, first_at, sealed FROM topics WHERE name = %s FOR UPDATE"
INSERT = "INSERT INTO records (topic_id, position, tag, at, size, payload) VALUES (%s, %s, %s, %s, %s, _binary %s)"
UPDATE = "UPDATE topics SET last_position = %s, last_tag = %s, size = size + %s, last_at = %s WHERE id = %s"


@contextmanager
def both(**settings: str) -> Iterator[tuple[StreamClient, MariadbServer, str]]:
    """Run a server that flushes each commit; give back our client, the server, and a database with tables for us."""
    with MariadbServer(synchronous=True, settings=settings) as server:
        ours, raw = server.create_database(), server.create_database()
        with tailrace.connect(server.url(ours), create=True) as streams:
            for table in ("topics", "records"):
                server.execute(f"CREATE TABLE {table} LIKE {ours}.tailrace_{table}", database=raw)
            server.execute(
                "INSERT INTO topics (name, incarnation, last_at, changed_at) VALUES ('t', 1, 0, 0)", database=raw
            )
            yield streams, server, raw


class Bare:
    """Five statements on a connection for each thread at a time, as anybody would write them."""

    def __init__(self, server: MariadbServer, database: str) -> None:
        self._idle: list[pymysql.Connection[Any]] = []
        self._connect: Callable[[], pymysql.Connection[Any]] = lambda: pymysql.connect(
            host="127.0.0.1", port=server.port, user="root", database=database, autocommit=True
        )

    def append(self) -> None:
        """Append one record."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        cursor = connection.cursor()
        cursor.execute("BEGIN")
        cursor.execute(SELECT, (b"t",))
        topic_id, _, last, *_ = cursor.fetchone()
        cursor.execute(INSERT, (topic_id, last + 1, 7, 0, len(PAYLOAD), PAYLOAD))
        cursor.execute(UPDATE, (last + 1, 7, len(PAYLOAD), 0, topic_id))
        cursor.execute("COMMIT")
        self._idle.append(connection)

    def close(self) -> None:
        """Close every connection."""
        for connection in self._idle:
            with contextlib.suppress(pymysql.Error):
                connection.close()
