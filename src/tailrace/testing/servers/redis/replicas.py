"""A master with replicas, and replication that is held, so that a replica lacks what the master has acknowledged."""

import re
from collections.abc import Sequence

from tailrace.testing.servers.redis.flavours import Flavour, flavour
from tailrace.testing.servers.redis.server import Aof, RedisServer, Settings, alike
from tailrace.testing.servers.started import Started
from tailrace.testing.servers.waiting import until


class RedisReplicas(Started):
    """A master and its replicas. A context manager that starts and removes them; not thread-safe.

    Args:
        kind: Which program; without one, what :func:`flavour` chooses.
        replicas: How many.
        password: Of the default user, and for replication.
        aof: As for one server; for all of them.
        tls: Whether they speak TLS, and nothing else, also with each other.
        settings: More directives, for all of them.

    Attributes:
        servers: All of them; the first one was the master at first.
    """

    def __init__(
        self,
        kind: Flavour | None = None,
        *,
        replicas: int = 1,
        password: str | None = None,
        aof: Aof = "no",
        tls: bool = False,
        settings: Settings | None = None,
    ) -> None:
        self.flavour = kind or flavour(tls=tls)
        self.password = password
        # Without a delay, a replica is there in milliseconds instead of five seconds.
        quick: dict[str, str | int | Sequence[str]] = {"repl-diskless-sync-delay": 0, "repl-ping-replica-period": 1}
        self.servers = alike(
            1 + replicas, self.flavour, password=password, aof=aof, tls=tls, settings=quick | dict(settings or {})
        )

    @property
    def master(self) -> RedisServer:
        """The one that takes writes, by its own account."""
        return next(server for server in self.servers if server.alive and role(server) == "master")

    @property
    def replicas(self) -> list[RedisServer]:
        """The others that are alive."""
        return [server for server in self.servers if server.alive and role(server) != "master"]

    def start(self) -> None:
        """Start all of them; return when the replicas have what the master has."""
        master, *others = self.servers
        master.start()
        for server in others:
            server.start()
            follow(server, master)
        for server in others:
            wait_until_heard(server, master)

    def close(self) -> None:
        """End and remove all of them. Idempotent."""
        for server in self.servers:
            server.close()


def role(server: RedisServer) -> str:
    """Return ``master`` or ``slave``."""
    return server.info("replication")["role"]


def follow(server: RedisServer, master: RedisServer) -> None:
    """Let a server become a replica of another one, also after a restart; returns at once."""
    server.call("REPLICAOF", *master.address)
    server.call("CONFIG", "REWRITE")


def hears(replica: RedisServer, master: RedisServer) -> bool:
    """Whether a replica has its master's data and is told of every change."""
    own = replica.info("replication")
    if own.get("master_port") != str(master.port) or own.get("master_link_status") != "up":
        return False
    # The master holds changes back until the replica has confirmed the data, which takes up to a second more.
    rows = (value.split(",") for name, value in master.info("replication").items() if name.startswith("slave"))
    return any({f"port={replica.port}", "state=online"} <= set(row) for row in rows)


def wait_until_heard(replica: RedisServer, master: RedisServer) -> None:
    """Block until a replica hears its master."""
    until(lambda: hears(replica, master), f"{replica!r} hears {master!r}")


def wait_until_replicated(master: RedisServer) -> None:
    """Block until all replicas have what anybody has written to their master so far.

    Unlike the command WAIT, which is about the writes of its own connection.
    """
    written = int(master.info("replication")["master_repl_offset"])
    until(lambda: _confirmed(master) >= written, f"the replicas have what {master!r} has")


def _confirmed(master: RedisServer) -> int:
    rows = [row.split(",") for name, row in master.info("replication").items() if re.fullmatch(r"slave\d+", name)]
    offsets = [dict(field.split("=", 1) for field in row)["offset"] for row in rows]
    return min(map(int, offsets), default=-1)


def hold(replica: RedisServer, master: RedisServer) -> None:
    """Let a replica miss everything that the master writes from now on, until ``release``.

    To stop the replica's process would not do: what has reached its socket by then, it reads when it goes on, even if
    the master is dead. It is told a wrong name to log in with instead, and then loses its link.
    """
    replica.call("CONFIG", "SET", "masteruser", "nobody")
    replica.call("CONFIG", "SET", "masterauth", "nothing")
    master.call("CLIENT", "KILL", "TYPE", "replica")
    until(lambda: not hears(replica, master), f"{replica!r} has lost its master")


def release(replica: RedisServer) -> None:
    """Let a replica that was held follow again whom it is told to; returns at once."""
    replica.call("CONFIG", "SET", "masteruser", "")
    replica.call("CONFIG", "SET", "masterauth", replica.password or "")
