"""A Cluster of real nodes, put together without redis-cli."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from tailrace.testing.servers.redis import encryption
from tailrace.testing.servers.redis.cluster_views import cluster_info, node_id, slot_ranges
from tailrace.testing.servers.redis.flavours import Flavour, flavour
from tailrace.testing.servers.redis.replicas import hears
from tailrace.testing.servers.redis.server import Aof, RedisServer, Settings, alike
from tailrace.testing.servers.started import Started
from tailrace.testing.servers.waiting import until

SLOTS = 16384

_AGREES_WITHIN = 60.0


class RedisCluster(Started):
    """Masters that share the slots evenly, each with its replicas. A context manager that starts and removes them.

    Forming takes about three seconds: a node refuses writes for its first two. Not thread-safe.

    Args:
        kind: Which program; without one, what :func:`flavour` chooses.
        masters: How many, at least three.
        replicas: How many per master.
        node_timeout: Seconds after which a node that does not answer counts as failed.
        password: Of the default user, on all nodes.
        aof: As for one server; for all nodes.
        tls: Whether they speak TLS, and nothing else, also with each other.
        settings: More directives, for all nodes.

    Attributes:
        nodes: All of them: first those that start as masters, then the replicas of the first, of the second, ...
    """

    def __init__(
        self,
        kind: Flavour | None = None,
        *,
        masters: int = 3,
        replicas: int = 0,
        node_timeout: float = 1.0,
        password: str | None = None,
        aof: Aof = "no",
        tls: bool = False,
        settings: Settings | None = None,
    ) -> None:
        self.flavour = kind or flavour(tls=tls)
        self.password = password
        self._masters = masters
        self._replicas = replicas
        directives: dict[str, str | int | Sequence[str]] = {
            "cluster-enabled": "yes",
            "cluster-node-timeout": round(node_timeout * 1000),
            "repl-diskless-sync-delay": 0,
        }
        directives |= settings or {}
        self.nodes = alike(
            masters * (1 + replicas), self.flavour, password=password, aof=aof, tls=tls, settings=directives
        )

    @property
    def url(self) -> str:
        """Where all nodes are, in one URL."""
        login = "" if self.password is None else f":{quote(self.password, safe='')}@"
        places = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        certificates = self.nodes[0].certificates
        if certificates is None:
            return f"redis+cluster://{login}{places}"
        return f"rediss+cluster://{login}{places}/?{encryption.settings(certificates)}"

    def start(self) -> None:
        """Start the nodes and form the cluster; return when each of them would serve any key it has.

        Raises:
            ServerFailedError: They did not get there.
        """
        for node in self.nodes:
            node.start()
        masters = self.nodes[: self._masters]
        for number, node in enumerate(self.nodes):
            # Else every node claims its slots with the same epoch, and they have to settle that first.
            node.call("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for number, node in enumerate(masters):
            first, last = SLOTS * number // len(masters), SLOTS * (number + 1) // len(masters) - 1
            if self.flavour.version >= (7, 0, 0):
                node.call("CLUSTER", "ADDSLOTSRANGE", first, last)
            else:
                node.call("CLUSTER", "ADDSLOTS", *range(first, last + 1))
        for node in self.nodes[1:]:
            self.nodes[0].call("CLUSTER", "MEET", *node.address)
        until(lambda: all(self._knows_all(node) for node in self.nodes), "all nodes met", timeout=_AGREES_WITHIN)
        for number, node in enumerate(self.nodes[self._masters :]):
            node.call("CLUSTER", "REPLICATE", node_id(masters[number // self._replicas]))
        self.wait_until_whole()

    def wait_until_whole(self) -> None:
        """Block until all nodes that are alive agree that every slot is served, and replicas hear their masters."""
        until(self._is_whole, f"{self!r} is whole", timeout=_AGREES_WITHIN)

    def slot_of(self, key: str | bytes) -> int:
        """Return the slot of a key."""
        slot = self._any().call("CLUSTER", "KEYSLOT", key)
        assert isinstance(slot, int)
        return slot

    def master_of(self, key: str | bytes) -> RedisServer:
        """Return the node that serves a key, by the account of the first one that is alive."""
        return self.owner(self.slot_of(key))

    def owner(self, slot: int) -> RedisServer:
        """Return the node that serves a slot, by the account of the first one that is alive."""
        for first, last, port in slot_ranges(self._any()):
            if first <= slot <= last:
                return next(node for node in self.nodes if node.port == port)
        raise LookupError(f"nobody serves slot {slot}")

    def close(self) -> None:
        """End and remove all nodes. Idempotent."""
        for node in self.nodes:
            node.close()

    def __repr__(self) -> str:
        return f"<RedisCluster {self.flavour.name} on {', '.join(str(node.port) for node in self.nodes)}>"

    def _any(self) -> RedisServer:
        return next(node for node in self.nodes if node.alive)

    def _knows_all(self, node: RedisServer) -> bool:
        # A node that has not answered yet is listed too, under a name that is not its own.
        reply = node.call("CLUSTER", "NODES")
        assert isinstance(reply, bytes)
        return b"handshake" not in reply and len(reply.splitlines()) == len(self.nodes)

    def _is_whole(self) -> bool:
        alive = [node for node in self.nodes if node.alive]
        views = {tuple(sorted(slot_ranges(node))) for node in alive}
        # One that was killed just now is still everybody's, and its replica may be promoted between our questions.
        serving = {port for view in views for _first, _last, port in view}
        if not serving <= {node.port for node in alive}:
            return False
        if len(views) != 1 or any(cluster_info(node)["cluster_state"] != "ok" for node in alive):
            return False
        return all(self._is_told(node) for node in alive)

    def _is_told(self, node: RedisServer) -> bool:
        port = node.info("replication").get("master_port")
        return port is None or hears(node, next(master for master in self.nodes if str(master.port) == port))
