"""The NATS store passes the contract among greenlets. Run by patched.py."""

from collections.abc import Iterator

import pytest
from tests.nats_server import NatsUnderTest

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.gevent_driver import GeventDriver
from tailrace.testing.servers.nats import NatsServer


@pytest.fixture
def driver() -> GeventDriver:
    return GeventDriver()


@pytest.fixture(scope="module")
def server() -> Iterator[NatsServer]:
    with NatsServer() as server:
        yield server


@pytest.fixture
def store_under_test(server: NatsServer) -> NatsUnderTest:
    return NatsUnderTest(server)
