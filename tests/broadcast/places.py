"""Places on Redis for the broadcast kit: a prefix of its own, behind a proxy that can break."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import redis

from tailrace.testing.broadcast import PlaceUnderTest
from tailrace.testing.faults.proxy import FlakyProxy
from tailrace.testing.servers.redis import RedisCluster, RedisServer

FORMS = ["pubsub", "sharded", "streams"]


class RedisPlaceUnderTest(PlaceUnderTest):
    """One form on one server."""

    def __init__(self, server: RedisServer, form: str, protocol: int = 2) -> None:
        super().__init__()
        self.name = f"broadcast-{form}"
        self.fixes_starts = form == "streams"
        self._proxy = FlakyProxy(server.address)
        self._client = redis.Redis.from_url(server.url)
        self._keys = f"kit-{secrets.token_hex(4)}"
        self._settings = f"mode={form}&protocol={protocol}&prefix={self._keys}"

    def url(self) -> str:
        return f"redis://127.0.0.1:{self._proxy.port}/0?{self._settings}"

    @contextmanager
    def broken(self) -> Iterator[None]:
        self._proxy.refuse()
        try:
            yield
        finally:
            self._proxy.accept()

    def kept(self) -> object:
        return {key: self._client.dump(key) for key in self._mine()}

    def close(self) -> None:
        for key in self._mine():
            self._client.delete(key)
        self._client.close()
        self._proxy.close()

    def _mine(self) -> list[bytes]:
        return sorted(self._client.scan_iter(f"{self._keys}:*"))


class ClusterPlaceUnderTest(PlaceUnderTest):
    """One form on a cluster."""

    def __init__(self, cluster: RedisCluster, form: str) -> None:
        super().__init__()
        self.name = f"broadcast-cluster-{form}"
        self.fixes_starts = form == "streams"
        # PUBLISH returns before the other nodes have it.
        self.ordered_entry = form != "pubsub"
        self._cluster = cluster
        self._form = form
        self._keys = f"kit-{secrets.token_hex(4)}"

    def url(self) -> str:
        return f"{self._cluster.url}/?mode={self._form}&prefix={self._keys}"
