"""A Redis server for the tests of a session, and a store on it with keys of its own for each case."""

import contextlib
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import redis

from tailrace import spi
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.stores import StoreUnderTest

Saved: TypeAlias = tuple[bytes, bytes, int]
"""A key, what is in it, and the milliseconds it has left."""


@contextmanager
def redis_server(*arguments: str) -> Iterator[str]:
    """Run a server on a free port; give back its URL, without a database."""
    with tempfile.TemporaryDirectory(prefix="tailrace-redis-") as folder:
        port = _free_port()
        server = subprocess.Popen(
            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, *arguments],
            stdout=subprocess.DEVNULL,
        )
        try:
            _wait_for(port)
            yield f"redis://127.0.0.1:{port}"
        finally:
            server.kill()
            server.wait()


class RedisUnderTest(StoreUnderTest):
    """A prefix of its own on a server."""

    name = "redis"

    def __init__(self, server: str) -> None:
        super().__init__()
        self._server = server
        self._keys = f"kit-{secrets.token_hex(4)}"
        self._client = redis.Redis.from_url(server, protocol=2)

    def unavailable(self) -> str | None:
        return None if shutil.which("redis-server") else "there is no redis-server on the PATH"

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


def _free_port() -> int:
    # Below the range that the kernel gives to outgoing connections, one of which could take it first.
    for _ in range(100):
        port = 20000 + secrets.randbelow(12000)
        try:
            redis.Redis(port=port, retry=None, socket_connect_timeout=1).ping()
        except redis.ConnectionError:
            return port
    raise RuntimeError("no free port")


def _wait_for(port: int) -> None:
    client = redis.Redis(port=port, protocol=2)
    deadline = time.monotonic() + 10
    while True:
        try:
            with contextlib.suppress(redis.AuthenticationError):
                client.ping()
        except redis.ConnectionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            client.close()
            return
