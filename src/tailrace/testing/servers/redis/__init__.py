"""Redis and Valkey: single servers, replicas, Sentinel, Cluster. No fakes, and no client library needed."""

from tailrace.testing.servers.redis.flavours import Flavour, flavour, flavours
from tailrace.testing.servers.redis.resp import RespError
from tailrace.testing.servers.redis.server import RedisServer

__all__ = ["Flavour", "RedisServer", "RespError", "flavour", "flavours"]
