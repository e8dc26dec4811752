"""A broker for the workers of this folder."""

from collections.abc import Iterator

import pytest

from tailrace.testing.servers.redis import RedisServer


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """The URL of a Redis server."""
    with RedisServer() as server:
        yield server.url
