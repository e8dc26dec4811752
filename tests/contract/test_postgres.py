"""The PostgreSQL store passes the contract."""

from collections.abc import Iterator

import pytest
from tests.contract import drivers
from tests.postgres_server import PostgresUnderTest, postgres_server

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.servers.postgres import PostgresServer

driver = drivers.driver


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def store_under_test(server: PostgresServer) -> PostgresUnderTest:
    return PostgresUnderTest(server)
