"""The PostgreSQL store passes the contract among greenlets. Run by patched.py."""

from collections.abc import Iterator

import pytest
from tests.postgres_server import PostgresUnderTest, postgres_server

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.gevent_driver import GeventDriver
from tailrace.testing.servers.postgres import PostgresServer


@pytest.fixture
def driver() -> GeventDriver:
    return GeventDriver()


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def store_under_test(server: PostgresServer) -> PostgresUnderTest:
    return PostgresUnderTest(server)
