"""The other side of the Redis benches: the same client, parser, pool and server, without a seal, a history or a gap."""

from collections.abc import Iterator
from contextlib import contextmanager

import redis
from tests.redis_server import redis_server

from tailrace import StreamClient
from tailrace.backends.redis import RedisStore


@contextmanager
def both(**settings: str) -> Iterator[tuple[StreamClient, redis.Redis]]:
    """Run a server; give back our client and a raw one with the same settings."""
    with redis_server(**settings) as url:
        raw = redis.Redis.from_url(url, protocol=2)
        with StreamClient(RedisStore(raw)) as streams:
            yield streams, raw
        raw.close()
