"""Redis and Valkey: single servers, replicas, Sentinel, Cluster. No fakes, and no client library needed."""

from tailrace.testing.servers.redis.cluster import RedisCluster
from tailrace.testing.servers.redis.flavours import Flavour, flavour, flavours
from tailrace.testing.servers.redis.replicas import RedisReplicas, hold, release
from tailrace.testing.servers.redis.resp import RespError
from tailrace.testing.servers.redis.sentinel import RedisSentinel
from tailrace.testing.servers.redis.server import RedisServer

__all__ = [
    "Flavour",
    "RedisCluster",
    "RedisReplicas",
    "RedisSentinel",
    "RedisServer",
    "RespError",
    "flavour",
    "flavours",
    "hold",
    "release",
]
