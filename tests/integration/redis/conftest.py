"""Stores with a prefix of the test's own on one server for all tests of this folder."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from tests.redis_server import redis_server

from tailrace.backends.redis import RedisStore
from tailrace.backends.redis.keys import Keys, TopicKeys
from tailrace.options import StoreOptions

OpenStore = Callable[..., RedisStore]


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a server, without a database."""
    # A replica that asks is served at once.
    with redis_server(**{"repl-diskless-sync-delay": "0"}) as url:
        yield url


@pytest.fixture
def raw(server: str) -> Iterator["redis.Redis"]:
    """A client of an operator, who may look at and change anything. Nothing is left of what was done."""
    client = redis.Redis.from_url(server, protocol=2, socket_timeout=30)
    yield client
    client.flushall()
    client.close()


@pytest.fixture
def prefix() -> str:
    """The prefix of the test's keys."""
    return f"t-{secrets.token_hex(4)}"


@pytest.fixture
def open_store(raw: "redis.Redis", prefix: str) -> Iterator[OpenStore]:
    """Open another handle; all are closed at the end."""
    opened: list[RedisStore] = []

    def opener(client: Any = None, **options: Any) -> RedisStore:
        opened.append(RedisStore(client or raw, prefix=prefix, options=StoreOptions(**options)))
        return opened[-1]

    yield opener
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> RedisStore:
    """A store without retention."""
    return open_store()


@pytest.fixture
def keys(prefix: str) -> TopicKeys:
    """The keys of topic ``t``."""
    return Keys(prefix).of("t")
