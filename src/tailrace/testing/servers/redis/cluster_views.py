"""What the nodes of a cluster say about it, each by its own account."""

from collections.abc import Iterator

from tailrace.testing.servers.redis.resp import Reply
from tailrace.testing.servers.redis.server import RedisServer


def node_id(node: RedisServer) -> str:
    """Return the name that a node has in its cluster."""
    reply = node.call("CLUSTER", "MYID")
    assert isinstance(reply, bytes)
    return reply.decode()


def cluster_info(node: RedisServer) -> dict[str, str]:
    """Return what a node says about its cluster."""
    reply = node.call("CLUSTER", "INFO")
    assert isinstance(reply, bytes)
    pairs = (line.partition(":") for line in reply.decode().splitlines())
    return {name: value for name, _, value in pairs}


def slot_ranges(node: RedisServer) -> Iterator[tuple[int, int, int]]:
    """Yield first slot, last slot and port of the master, as a node sees it."""
    reply: Reply = node.call("CLUSTER", "SLOTS")
    assert isinstance(reply, list)
    for row in reply:
        match row:
            case [int(first), int(last), [_, int(port), *_], *_]:
                yield first, last, port
