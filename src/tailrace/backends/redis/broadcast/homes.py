"""Where channels are listened to: anywhere, or in a sharded cluster at the node that has the slot."""

from typing_extensions import override

from tailrace.backends.redis.broadcast.ears import Homes
from tailrace.backends.redis.cluster import Cluster
from tailrace.backends.redis.nodes import Nodes
from tailrace.backends.redis.slots import Address
from tailrace.backends.redis.wire import Wire

_ANYWHERE: Address = ("", 0)


class OneHome(Homes):
    """One connection for all channels. In a cluster that is not sharded, every node hears everything."""

    def __init__(self, nodes: Nodes, *, sharded: bool) -> None:
        self.name = nodes.name
        self.sharded = sharded
        self._nodes = nodes

    @override
    def home_of(self, channel: bytes) -> Address | None:
        return _ANYWHERE

    @override
    def dial(self, home: Address, timeout: float) -> Wire:
        return self._nodes.dial(timeout)

    @override
    def moved(self, error: Exception, home: Address) -> None:
        pass

    @override
    def doubt(self) -> None:
        pass


class ShardedHomes(Homes):
    """A connection for each node of a cluster of which some channel is listened to."""

    sharded = True

    def __init__(self, cluster: Cluster, patience: float) -> None:
        self.name = cluster.name
        self._cluster = cluster
        self._patience = patience

    @override
    def home_of(self, channel: bytes) -> Address | None:
        self._cluster.refresh(self._patience)
        return self._cluster.home_of(channel)

    @override
    def dial(self, home: Address, timeout: float) -> Wire:
        return self._cluster.dial_home(home, timeout)

    @override
    def moved(self, error: Exception, home: Address) -> None:
        self._cluster.learn(error, home)

    @override
    def doubt(self) -> None:
        self._cluster.doubt()
