"""Stores on other places for the contract kit: a cluster, a primary that sentinels name, a server with TLS."""

from __future__ import annotations

import redis
from redis.sentinel import Sentinel
from tests.redis_server import RedisUnderTest

from tailrace import spi
from tailrace.backends.redis import RedisStore
from tailrace.options import StoreOptions
from tailrace.testing.servers.redis import RedisCluster, RedisSentinel, RedisServer


class ClusterUnderTest(RedisUnderTest):
    """A prefix of its own on a cluster."""

    name = "redis-cluster"

    def __init__(self, cluster: RedisCluster, protocol: int = 2) -> None:
        super().__init__(cluster.nodes[0].url)
        self._cluster = cluster
        self._protocol = protocol
        self._operators = [redis.Redis.from_url(node.url, protocol=2) for node in cluster.nodes]

    def url(self) -> str:
        url = self._cluster.url
        return f"{url}{'&' if '?' in url else '/?'}prefix={self._keys}&protocol={self._protocol}"

    def backup(self) -> object:
        return [self._copy(operator) for operator in self._operators]

    def restore(self, backup: object) -> None:
        assert isinstance(backup, list)
        for operator, copy in zip(self._operators, backup, strict=True):
            # At once for each topic: the keys of several may not be in one transaction.
            topics = {_topic(key) for key in self._mine(operator)} | {_topic(key) for key, _, _ in copy}
            for topic in topics:
                self._replace(
                    operator,
                    [key for key in self._mine(operator) if _topic(key) == topic],
                    [saved for saved in copy if _topic(saved[0]) == topic],
                )

    def close(self) -> None:
        super().close()
        for operator in self._operators:
            for key in self._mine(operator):
                operator.delete(key)
            operator.close()

    def _all(self) -> list[bytes]:
        return []


class SentinelUnderTest(RedisUnderTest):
    """A prefix of its own on a primary and its replica."""

    name = "redis-sentinel"

    def __init__(self, sentinel: RedisSentinel) -> None:
        super().__init__(sentinel.master.url)
        self._sentinel = sentinel

    def url(self) -> str:
        return f"{self._sentinel.url}/0?prefix={self._keys}"


class EncryptedUnderTest(RedisUnderTest):
    """A prefix of its own on a server that speaks TLS."""

    name = "redis-tls"

    def __init__(self, server: RedisServer) -> None:
        super().__init__(server.url)
        self._url = server.url

    def url(self) -> str:
        return f"{self._url}&prefix={self._keys}"


class ClientUnderTest(RedisUnderTest):
    """A prefix of its own on a server, through a client that somebody else has made, in RESP3."""

    name = "redis-resp3"

    def __init__(self, server: str) -> None:
        super().__init__(server)
        self._clients: list[redis.Redis] = []

    def url(self) -> str:
        return f"{super().url()}&protocol=3"

    def open(self, options: StoreOptions | None = None) -> spi.Backend:
        client = redis.Redis.from_url(self._server, protocol=3)
        self._clients.append(client)
        return RedisStore(client, prefix=self._keys, options=options)

    def close(self) -> None:
        super().close()
        for client in self._clients:
            client.close()


def master_client(sentinel: RedisSentinel, **settings: object) -> redis.Redis:
    """Return a client as applications make it."""
    places = [("127.0.0.1", node.port) for node in sentinel.sentinels]
    client: redis.Redis = Sentinel(places, **settings).master_for(sentinel.name)
    return client


def _topic(key: bytes) -> bytes:
    return key.rpartition(b":")[0]
