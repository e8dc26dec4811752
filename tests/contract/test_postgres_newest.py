"""The PostgreSQL store passes the contract, on the newest server."""

from collections.abc import Iterator

import pytest
from tests.postgres_server import PostgresUnderTest

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.servers.postgres import PostgresServer, flavours

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer(max(flavours(), key=lambda kind: kind.version, default=None)) as server:
        yield server


@pytest.fixture
def store_under_test(server: PostgresServer) -> PostgresUnderTest:
    return PostgresUnderTest(server)
