"""A server that tests share, and a database on it for each."""

from collections.abc import Iterator

import pytest
from tests.mysql_server import mariadb_server

from tailrace.testing.servers.mariadb import MariadbServer


@pytest.fixture(scope="module")
def server() -> Iterator[MariadbServer]:
    """A server whose settings nobody changes for good."""
    with mariadb_server() as server:
        yield server


@pytest.fixture
def database(server: MariadbServer) -> Iterator[str]:
    """An empty database."""
    name = server.create_database()
    yield name
    server.drop_database(name)
