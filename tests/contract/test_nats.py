"""The NATS store passes the contract: all topics in one stream, on the newest server."""

from collections.abc import Iterator

import pytest
from tests.contract import drivers
from tests.nats_server import NatsUnderTest

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.servers.nats import NatsServer

driver = drivers.driver


@pytest.fixture(scope="module")
def server() -> Iterator[NatsServer]:
    with NatsServer() as server:
        yield server


@pytest.fixture
def store_under_test(server: NatsServer) -> NatsUnderTest:
    return NatsUnderTest(server)
