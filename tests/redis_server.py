"""A Redis server that tests share, and a store on it with keys of its own for each case."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import redis

from tailrace import spi
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.servers.redis import RedisServer
from tailrace.testing.stores import StoreUnderTest

Saved: TypeAlias = tuple[bytes, bytes, int]
"""A key, what is in it, and the milliseconds it has left."""


@contextmanager
def redis_server(**settings: str) -> Iterator[str]:
    """Run a server on a free port; give back its URL, without a password or a database."""
    password = settings.pop("requirepass", None)
    with RedisServer(password=password, settings=settings) as server:
        yield f"redis://127.0.0.1:{server.port}"


class RedisUnderTest(StoreUnderTest):
    """A prefix of its own on a server."""

    name = "redis"

    def __init__(self, server: str) -> None:
        super().__init__()
        self._server = server
        self._keys = f"kit-{secrets.token_hex(4)}"
        self._client = redis.Redis.from_url(server, protocol=2)

    def url(self) -> str:
        return f"{self._server}/0?prefix={self._keys}"

    def open(self, options: StoreOptions | None = None) -> spi.Backend:
        return spi.open_store(parse_url(self.url()), options or StoreOptions())

    def backup(self) -> object:
        return self._copy(self._client)

    def restore(self, backup: object) -> None:
        assert isinstance(backup, list)
        self._replace(self._client, self._all(), backup)

    def close(self) -> None:
        super().close()
        for key in self._all():
            self._client.delete(key)
        self._client.close()

    def _all(self) -> list[bytes]:
        return self._mine(self._client)

    def _mine(self, client: "redis.Redis") -> list[bytes]:
        return list(client.scan_iter(f"{self._keys}:*", count=1000))

    def _copy(self, client: "redis.Redis") -> list[Saved]:
        return [(key, client.dump(key), max(0, client.pttl(key))) for key in self._mine(client)]

    def _replace(self, client: "redis.Redis", there: Sequence[bytes], saved: Sequence[Saved]) -> None:
        # At once: whoever is connected sees the old keys or the new ones.
        with client.pipeline(transaction=True) as pipeline:
            for key in there:
                pipeline.delete(key)
            for key, dump, ttl in saved:
                pipeline.restore(key, ttl, dump)
            pipeline.execute()
