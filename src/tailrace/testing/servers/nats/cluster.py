"""A cluster of real nodes, each with JetStream. A node is found by its name, a stream's leader by the stream's."""

from collections.abc import Mapping
from typing import Any

from tailrace.testing.servers.nats.flavours import Flavour, flavour
from tailrace.testing.servers.nats.server import NatsServer, Settings, store_url
from tailrace.testing.servers.nats.wire import NatsError
from tailrace.testing.servers.started import Started
from tailrace.testing.servers.waiting import until

_FORMS_WITHIN = 60.0


class NatsCluster(Started):
    """Nodes called ``n1``, ``n2``, ... A context manager that starts and removes them.

    Forming takes about three seconds; a leader that was killed is followed by another one after four to nine. Not
    thread-safe.

    Args:
        kind: Which program; without one, the newest.
        nodes: How many.
        jetstream: As for one server; for all nodes.
        synchronous: As for one server; for all nodes.
        users: As for one server; for all nodes.
        settings: More of the configuration, for all nodes.

    Attributes:
        nodes: All of them, by name.
    """

    def __init__(
        self,
        kind: Flavour | None = None,
        *,
        nodes: int = 3,
        jetstream: bool | Settings = True,
        synchronous: bool = False,
        users: Mapping[str, str] | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.flavour = kind or flavour()
        self.nodes = {
            name: NatsServer(
                self.flavour,
                name=name,
                jetstream=jetstream,
                synchronous=synchronous,
                users=users,
                settings={"cluster": {}, **(settings or {})},
            )
            for name in (f"n{number + 1}" for number in range(nodes))
        }

    def url(self, **settings: str) -> str:
        """Return the URL of a store on all of them.

        Args:
            settings: Of the URL, such as ``replicas``.
        """
        return store_url(list(self.nodes.values()), **settings)

    def start(self) -> None:
        """Start the nodes; return when they are a cluster that would store.

        Raises:
            ServerFailedError: They did not get there.
        """
        everybody = list(self.nodes.values())
        for node in everybody:
            routes = [other.route for other in everybody if other is not node]
            node.configure(cluster={"name": "kit", "listen": node.route.partition("//")[2], "routes": routes})
        for node in everybody:
            node.start()
        self.wait_until_whole()

    def wait_until_whole(self) -> None:
        """Block until the nodes that are alive have a leader and are up to date with it, streams included."""
        until(self._is_whole, f"{self!r} is whole", timeout=_FORMS_WITHIN)

    def call(self, operation: str, *, timeout: float = 10.0, **arguments: object) -> dict[str, Any]:
        """Ask JetStream, through any node that is alive; as ``NatsServer.call`` does."""
        return self.anyone().call(operation, timeout=timeout, **arguments)

    def streams(self) -> list[str]:
        """Return the names of all streams, through any node that is alive."""
        return self.anyone().streams()

    def drop(self, stream: str) -> None:
        """Delete a stream, through any node that is alive; nothing happens if there is none."""
        self.anyone().drop(stream)

    def anyone(self) -> NatsServer:
        """Return a node that is alive."""
        return next(node for node in self.nodes.values() if node.alive)

    def leader_of(self, stream: str) -> NatsServer:
        """Return the node that leads a stream. Blocks while nobody alive does, for an election."""
        found: list[NatsServer] = []
        until(lambda: self._ask_for_leader(stream, found), f"{stream} has a leader", timeout=_FORMS_WITHIN)
        return found[-1]

    def step_down(self, stream: str) -> None:
        """Make the leader of a stream give up, without any harm; return when there is another one, or it again."""
        self.call(f"STREAM.LEADER.STEPDOWN.{stream}")
        self.leader_of(stream)

    def close(self) -> None:
        """End and remove all nodes. Idempotent."""
        for node in self.nodes.values():
            node.close()

    def __repr__(self) -> str:
        return f"<NatsCluster {self.flavour.name} on {', '.join(str(node.port) for node in self.nodes.values())}>"

    def _is_whole(self) -> bool:
        alive = [node for node in self.nodes.values() if node.alive]
        if not all(node.healthy() for node in alive):
            return False
        leaders = {node.monitor("jsz").get("meta_cluster", {}).get("leader", "") for node in alive}
        return len(leaders) == 1 and leaders <= {node.name for node in alive}

    def _ask_for_leader(self, stream: str, found: list[NatsServer]) -> bool:
        try:
            told = self.anyone().call(f"STREAM.INFO.{stream}", timeout=2.0)
        except NatsError:
            return False
        node = self.nodes.get(told.get("cluster", {}).get("leader") or "")
        if node is None or not node.alive:
            return False
        found.append(node)
        return True
