"""The NATS store passes the contract on the other servers, layouts and topologies that are supported."""

from collections.abc import Iterator

import pytest
from tests.nats_server import NatsUnderTest

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.drivers import Driver, SyncDriver
from tailrace.testing.servers.nats import NatsCluster, NatsServer, flavour
from tailrace.testing.servers.nats.flavours import Flavour

pytestmark = pytest.mark.long

SERVERS = [
    "nats-2.9",
    "nats-2.11",
    "nats-2.12",
    "newest with a stream for each topic",
    "nats-2.9 with a stream for each topic",
    "newest with TLS and a password",
    "newest as a cluster",
    "newest as a cluster with a stream for each topic",
    "nats-2.11 as a cluster",
]


@pytest.fixture
def driver() -> Driver:
    return SyncDriver()


@pytest.fixture(scope="module", params=SERVERS)
def place(request: pytest.FixtureRequest) -> Iterator[tuple[NatsServer | NatsCluster, dict[str, str]]]:
    """What is tested, and settings of the URL."""
    settings = {"layout": "dedicated"} if "a stream for each topic" in request.param else {}
    kind = _kind(request.param.partition(" ")[0])
    if "cluster" in request.param:
        with NatsCluster(kind) as cluster:
            yield cluster, {"replicas": "3", **settings}
        return
    users = {"streams": "p/w @:"} if "password" in request.param else None
    with NatsServer(kind, tls="TLS" in request.param, users=users) as server:
        yield server, settings


@pytest.fixture
def store_under_test(place: tuple[NatsServer | NatsCluster, dict[str, str]]) -> NatsUnderTest:
    server, settings = place
    return NatsUnderTest(server, **settings)


def _kind(name: str) -> Flavour:
    return flavour() if name == "newest" else flavour(name)
