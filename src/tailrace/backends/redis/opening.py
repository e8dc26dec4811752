"""From a URL or an existing client to the servers behind it."""

import functools
from typing import TypeAlias

import redis
from redis.sentinel import SentinelConnectionPool

from tailrace.backends.redis.atlas import Atlas
from tailrace.backends.redis.cluster import Cluster
from tailrace.backends.redis.location import Location, from_client, locate
from tailrace.backends.redis.nodes import Nodes, SingleNode
from tailrace.backends.redis.sentinel import Primary
from tailrace.backends.redis.several import (
    ClusterPlaces,
    SentinelPlaces,
    from_cluster_client,
    from_sentinel_pool,
    locate_cluster,
    locate_sentinel,
)
from tailrace.backends.redis.wire import dial
from tailrace.options import StoreURL

Places: TypeAlias = Location | ClusterPlaces | SentinelPlaces
"""One server, a cluster, or what sentinels watch."""


def places_of(url: StoreURL) -> tuple[Places, str]:
    """Read a URL; return what it names, and the prefix of keys.

    Raises:
        InvalidArgumentError: It can not be used like this.
    """
    kind = url.scheme.partition("+")[2]
    if kind == "cluster":
        return locate_cluster(url)
    if kind == "sentinel":
        return locate_sentinel(url)
    return locate(url)


def nodes_of(client: object) -> Nodes:
    """Return the servers that a client, or what a URL said, is about. Without I/O.

    Raises:
        InvalidArgumentError: It is no client that can be used.
    """
    if isinstance(client, redis.RedisCluster):
        client = from_cluster_client(client)
    elif isinstance(client, redis.Redis) and isinstance(client.connection_pool, SentinelConnectionPool):
        client = from_sentinel_pool(client.connection_pool)
    if isinstance(client, ClusterPlaces):
        return Cluster(Atlas(client.template, client.seeds, client.remap))
    if isinstance(client, SentinelPlaces):
        return Primary(client)
    location = client if isinstance(client, Location) else from_client(client)
    return SingleNode(location.name, functools.partial(dial, location))
