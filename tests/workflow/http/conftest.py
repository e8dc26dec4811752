"""One server for the tests of a file that only ask it something; and databases of each kind, to serve."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workflow.conftest import ENGINES
from tests.workflow.http.api import Api, serving
from tests.workflow.places import MariadbPlace, PostgresPlace, SqlitePlace

from tailrace.server.connection import Connection


@pytest.fixture(scope="module", autouse=True)
def patient() -> Iterator[None]:
    """Whoever sends more than a server takes comes to the end, however slow this machine is just now."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "linger", 60.0)
        yield


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder: Path = tmp_path_factory.mktemp("api")
    with serving(folder) as api:
        yield api


@pytest.fixture(scope="module", params=ENGINES)
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a database that only this file uses, with its tables."""
    match request.param:
        case "postgres":
            return PostgresPlace(request.getfixturevalue("postgres")).url
        case "mariadb":
            return MariadbPlace(request.getfixturevalue("mariadb")).url
        case _:
            return SqlitePlace(tmp_path_factory.mktemp("database")).url
