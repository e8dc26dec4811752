"""Sentinels that watch a master and its replicas, and the ways in which another server becomes the master."""

import contextlib
from urllib.parse import quote

from tailrace.testing.servers.certificates import Certificates
from tailrace.testing.servers.errors import ServerFailedError
from tailrace.testing.servers.redis import encryption
from tailrace.testing.servers.redis.flavours import Flavour
from tailrace.testing.servers.redis.replicas import RedisReplicas, hears, role
from tailrace.testing.servers.redis.resp import RespError
from tailrace.testing.servers.redis.sentinel_node import SentinelNode
from tailrace.testing.servers.redis.server import Aof, RedisServer, Settings
from tailrace.testing.servers.started import Started
from tailrace.testing.servers.waiting import until

_AGREES_WITHIN = 60.0
_ATTEMPTS = 3
_TRY_AGAIN = {"INPROG", "NOGOODSLAVE"}


class RedisSentinel(Started):
    """A master, its replicas and the sentinels. A context manager that starts and removes them; not thread-safe.

    Args:
        kind: Which program; without one, what :func:`flavour` chooses.
        replicas: How many.
        sentinels: How many; more than half have to agree.
        down_after: Seconds after which a server that does not answer counts as down. A replica whose link to the
            master has been down for ten times as long is not promoted any more.
        failover_timeout: Seconds that a failover may take; twice as much passes before it is tried again.
        password: Of the servers' default user. The sentinels have none.
        aof: As for one server; for all servers.
        tls: Whether servers and sentinels speak TLS, and nothing else, also with each other.
        settings: More directives, for all servers.

    Attributes:
        name: Under which the sentinels know the master.
        replication: The master and its replicas.
        sentinels: All of them.
    """

    def __init__(
        self,
        kind: Flavour | None = None,
        *,
        replicas: int = 1,
        sentinels: int = 3,
        down_after: float = 0.8,
        failover_timeout: float = 3.0,
        password: str | None = None,
        aof: Aof = "no",
        tls: bool = False,
        settings: Settings | None = None,
    ) -> None:
        self.name = "tailrace"
        self.replication = RedisReplicas(
            kind, replicas=replicas, password=password, aof=aof, tls=tls, settings=settings
        )
        self.sentinels: list[SentinelNode] = []
        self._count = sentinels
        self._down_after = down_after
        self._failover_timeout = failover_timeout

    @property
    def servers(self) -> list[RedisServer]:
        """The master and its replicas."""
        return self.replication.servers

    @property
    def url(self) -> str:
        """Where the sentinels are, and which master to ask them for; the password is that of the servers."""
        password = self.replication.password
        login = "" if password is None else f":{quote(password, safe='')}@"
        places = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        certificates = self._certificates
        if certificates is None:
            return f"redis+sentinel://{login}{places}/{self.name}"
        return f"rediss+sentinel://{login}{places}/{self.name}/0?{encryption.settings(certificates)}"

    @property
    def master(self) -> RedisServer:
        """The one that the sentinels name; it may be down. Blocks until all of them agree."""
        named: set[int] = set()

        def agreed() -> bool:
            named.clear()
            named.update(sentinel.master_port(self.name) for sentinel in self._watching)
            return len(named) == 1

        # They hear of a new one one after the other.
        until(agreed, "the sentinels agree on a master", timeout=_AGREES_WITHIN)
        return next(server for server in self.servers if server.port in named)

    @property
    def replicas(self) -> list[RedisServer]:
        """The other servers, dead or alive."""
        master = self.master
        return [server for server in self.servers if server is not master]

    def start(self) -> None:
        """Start all of them; return when every sentinel knows every server and every other sentinel."""
        self.replication.start()
        self.sentinels = [
            SentinelNode(self.replication.flavour, self._directives(), self._certificates) for _ in range(self._count)
        ]
        for sentinel in self.sentinels:
            sentinel.start()
        self.wait_until_calm()

    def failover(self) -> RedisServer:
        """Make the sentinels promote a replica, although the master is well; return the new master.

        Returns when all sentinels name it and it takes writes. The former master may still be on its way to become a
        replica: until it has, it takes writes too, which are lost.
        """
        former = self.master
        for _ in range(_ATTEMPTS):
            until(self._failover_begun, "a sentinel begins a failover", timeout=_AGREES_WITHIN, step=0.1)
            # A sentinel gives one up when no replica is fit at that moment, and does not begin another by itself.
            with contextlib.suppress(ServerFailedError):
                return self.wait_until_replaced(former, within=_AGREES_WITHIN / _ATTEMPTS)
        return self.wait_until_replaced(former)

    def kill_master(self) -> RedisServer:
        """End the master with SIGKILL; return the new one when all sentinels name it and it takes writes."""
        former = self.master
        former.kill()
        return self.wait_until_replaced(former)

    def wait_until_replaced(self, former: RedisServer, *, within: float = _AGREES_WITHIN) -> RedisServer:
        """Block until another server than ``former`` is the master for all sentinels; return it."""
        until(lambda: self._has_replaced(former), f"the sentinels replace {former!r}", timeout=within)
        return self.master

    def wait_until_calm(self) -> None:
        """Block until all servers are up, and all sentinels see them so and know each other.

        After the former master was started again, that is when it has become a replica and caught up.
        """
        until(self._is_calm, f"{self!r} is calm", timeout=_AGREES_WITHIN, step=0.05)

    def close(self) -> None:
        """End and remove all of them. Idempotent."""
        for sentinel in self.sentinels:
            sentinel.close()
        self.replication.close()

    def __repr__(self) -> str:
        servers = ", ".join(str(server.port) for server in self.servers)
        return f"<RedisSentinel {self.replication.flavour.name}: servers on {servers}>"

    @property
    def _certificates(self) -> Certificates | None:
        return self.servers[0].certificates

    def _directives(self) -> list[str]:
        master = self.servers[0]
        lines = [
            f"sentinel monitor {self.name} 127.0.0.1 {master.port} {self._count // 2 + 1}",
            f"sentinel down-after-milliseconds {self.name} {round(self._down_after * 1000)}",
            f"sentinel failover-timeout {self.name} {round(self._failover_timeout * 1000)}",
            f"sentinel parallel-syncs {self.name} 8",
        ]
        if self.replication.password is not None:
            lines.append(f"sentinel auth-pass {self.name} {self.replication.password}")
        return lines

    @property
    def _watching(self) -> list[SentinelNode]:
        return [sentinel for sentinel in self.sentinels if sentinel.alive]

    def _failover_begun(self) -> bool:
        try:
            self._watching[0].call("SENTINEL", "FAILOVER", self.name)
        except RespError as refused:
            if refused.code in _TRY_AGAIN:
                return False
            raise
        return True

    def _has_replaced(self, former: RedisServer) -> bool:
        named = {sentinel.master_port(self.name) for sentinel in self._watching}
        return len(named) == 1 and named != {former.port} and role(self.master) == "master"

    def _is_calm(self) -> bool:
        master_seen = {
            "flags": "master",
            "num-slaves": str(len(self.servers) - 1),
            "num-other-sentinels": str(len(self.sentinels) - 1),
        }
        for sentinel in self._watching:
            if not master_seen.items() <= sentinel.master_seen(self.name).items():
                return False
            if any(seen["flags"] != "slave" for seen in sentinel.replicas_seen(self.name)):
                return False
        master = self.master
        return all(hears(server, master) for server in self.servers if server is not master)
