"""Real servers of every kind, to be killed, restored and restarted under whoever is connected."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import tailrace
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.nats import NatsServer
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.testing.servers.redis import RedisServer

SQL = ("postgres", "mysql")
KINDS = ("redis", *SQL, "nats")


@dataclass(frozen=True)
class Running:
    """A server, and the URL of the store on it, which is there.

    Attributes:
        server: What can be killed and started again.
        url: Where clients find it.
    """

    server: RedisServer | PostgresServer | MariadbServer | NatsServer
    url: str

    def backup(self, copy: Path) -> None:
        """Copy everything as an operator does with the server's own files. SQL servers are stopped meanwhile."""
        if isinstance(self.server, RedisServer | NatsServer):
            self.server.backup(copy)
            return
        self.server.stop()
        _copy(self.server.data, copy)
        self.server.start()

    def restore(self, copy: Path) -> None:
        """Stop it, put a copy in the place of its data, start it."""
        if isinstance(self.server, RedisServer | NatsServer):
            self.server.restore(copy)
            return
        self.server.stop()
        self.server.data.rename(self.server.folder / "replaced")
        _copy(copy, self.server.data)
        self.server.start()


@contextmanager
def running(kind: str) -> Iterator[Running]:
    """Run a server of a kind that keeps every acknowledged record whatever process dies."""
    if kind == "redis":
        with RedisServer(aof="always") as server:
            yield Running(server, server.url)
    elif kind == "nats":
        with NatsServer(synchronous=True) as server:
            yield _created(Running(server, server.url()))
    elif kind == "postgres":
        with PostgresServer(synchronous=True) as server:
            yield _created(Running(server, server.url()))
    else:
        with MariadbServer(synchronous=True) as server:
            yield _created(Running(server, server.url(server.create_database("events"))))


def _created(made: Running) -> Running:
    tailrace.connect(made.url, create=True).close()
    return made


def _copy(source: Path, target: Path) -> None:
    # With owners: servers that root starts are another user's.
    subprocess.run(["cp", "-a", str(source), str(target)], check=True, timeout=60)
