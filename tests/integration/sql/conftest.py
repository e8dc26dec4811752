"""A server of each kind that tests share, and a database on it for each."""

from collections.abc import Iterator

import pytest
from tests.integration.sql.places import Place

from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer


@pytest.fixture(scope="module", params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[PostgresServer | MariadbServer]:
    with PostgresServer() if request.param == "postgres" else MariadbServer() as server:
        yield server


@pytest.fixture
def place(server: PostgresServer | MariadbServer) -> Iterator[Place]:
    place = Place(server)
    yield place
    place.close()
