"""Each database in turn, emptied after every case; the servers are started once for all files of a process."""

from collections.abc import Callable, Iterator

import pytest
from tests.workflow.crowd import Crowd
from tests.workflow.places import MariadbPlace, Place, PostgresPlace, SqlitePlace

from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.workflow.embedded import EmbeddedService

ENGINES = ("sqlite", "postgres", "mariadb")

_made: dict[str, Place] = {}


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariadbServer]:
    with MariadbServer() as server:
        yield server


@pytest.fixture(scope="session")
def places(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Place]]:
    """What finds the database of an engine; it is made when it is first asked for."""

    def place(engine: str) -> Place:
        if engine not in _made:
            if engine == "sqlite":
                _made[engine] = SqlitePlace(tmp_path_factory.mktemp("workflow"))
            else:
                server = request.getfixturevalue(engine)
                _made[engine] = PostgresPlace(server) if engine == "postgres" else MariadbPlace(server)
        return _made[engine]

    yield place
    for one in _made.values():
        one.close()


@pytest.fixture(scope="module", autouse=True)
def rest() -> Iterator[None]:
    """End the threads of services with each file: the simulation, in the same process perhaps, replaces their code."""
    yield
    for place in _made.values():
        place.rest()


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, places: Callable[[str], Place]) -> Iterator[Place]:
    found = places(request.param)
    yield found
    found.empty()


@pytest.fixture
def service(place: Place) -> EmbeddedService:
    """A service of runs that begin with their first append."""
    return place.shared


@pytest.fixture(scope="session")
def crowd() -> Iterator[Crowd]:
    """Other processes, which start when they are first asked for."""
    with Crowd() as crowd:
        yield crowd
