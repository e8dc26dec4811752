"""Slots that move from one node of a cluster to another, in the steps in which resharding does it."""

from tailrace.testing.servers.redis.cluster import RedisCluster
from tailrace.testing.servers.redis.cluster_views import node_id
from tailrace.testing.servers.redis.replicas import role
from tailrace.testing.servers.redis.server import RedisServer

_MOVED_AT_ONCE = 100


def move(cluster: RedisCluster, slot: int, to: RedisServer) -> None:
    """Move a slot with its keys; return once all nodes agree who has it."""
    source = begin_move(cluster, slot, to)
    move_keys(cluster, slot, source, to)
    end_move(cluster, slot, to)
    # Before another one: nodes that hear of two at once by gossip may each hold on to an owner of their own.
    cluster.wait_until_whole()


def begin_move(cluster: RedisCluster, slot: int, to: RedisServer) -> RedisServer:
    """Let the owner of a slot answer with ASK for keys of it that it has not, and return that owner."""
    source = cluster.owner(slot)
    to.call("CLUSTER", "SETSLOT", slot, "IMPORTING", node_id(source))
    source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", node_id(to))
    return source


def move_keys(cluster: RedisCluster, slot: int, source: RedisServer, to: RedisServer) -> None:
    """Move the keys of a slot whose move was begun."""
    login = [] if cluster.password is None else ["AUTH", cluster.password]
    while keys := source.call("CLUSTER", "GETKEYSINSLOT", slot, _MOVED_AT_ONCE):
        assert isinstance(keys, list)
        names = [key for key in keys if isinstance(key, bytes)]
        source.call("MIGRATE", *to.address, "", 0, 10_000, *login, "KEYS", *names)


def end_move(cluster: RedisCluster, slot: int, to: RedisServer) -> None:
    """Make a move known to all masters; the former owner answers with MOVED from now on."""
    owner = node_id(to)
    # The new owner first: else nobody would serve the slot for a moment.
    for node in (to, *cluster.nodes):
        if node.alive and role(node) == "master":
            node.call("CLUSTER", "SETSLOT", slot, "NODE", owner)
