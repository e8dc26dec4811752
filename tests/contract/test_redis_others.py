"""The Redis store passes the contract on the other servers that are supported, also as clusters, in RESP3, with TLS."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.redis_server import RedisUnderTest
from tests.redis_several import ClientUnderTest, ClusterUnderTest, EncryptedUnderTest

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.drivers import Driver, SyncDriver
from tailrace.testing.servers.redis import RedisCluster, RedisServer, flavour

pytestmark = pytest.mark.long

PLACES = [
    "redis-6.2",
    "redis-8",
    "redis-7 in RESP3",
    "redis-7 with TLS",
    "redis-6.2 as a cluster",
    "redis-7 as a cluster with TLS",
    "valkey as a cluster in RESP3",
]


@pytest.fixture
def driver() -> Driver:
    return SyncDriver()


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[tuple[RedisServer | RedisCluster, bool]]:
    """What is tested, and whether in RESP3."""
    kind = flavour(request.param.partition(" ")[0])
    with ExitStack() as stack:
        tls = "TLS" in request.param
        started = RedisCluster(kind, tls=tls) if "cluster" in request.param else RedisServer(kind, tls=tls)
        yield stack.enter_context(started), "RESP3" in request.param


@pytest.fixture
def store_under_test(place: tuple[RedisServer | RedisCluster, bool]) -> RedisUnderTest:
    server, resp3 = place
    if isinstance(server, RedisCluster):
        return ClusterUnderTest(server, protocol=3 if resp3 else 2)
    if server.certificates is not None:
        return EncryptedUnderTest(server)
    url = f"redis://127.0.0.1:{server.port}"
    return ClientUnderTest(url) if resp3 else RedisUnderTest(url)
