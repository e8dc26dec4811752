"""The Redis store passes the contract on the newest server, in RESP3, through a client that was there before."""

from collections.abc import Iterator

import pytest
from tests.redis_several import ClientUnderTest

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.servers.redis import RedisServer, flavours

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with RedisServer(max(flavours(), key=lambda kind: kind.version, default=None)) as server:
        yield f"redis://127.0.0.1:{server.port}"


@pytest.fixture
def store_under_test(server: str) -> ClientUnderTest:
    return ClientUnderTest(server)
