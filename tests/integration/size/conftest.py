"""Each engine in turn, with nothing in it yet."""

from collections.abc import Callable

import pytest
from tests.integration.size.mariadb import MariadbEngine
from tests.integration.size.postgres import PostgresEngine
from tests.integration.size.sqlite import SqliteEngine
from tests.integration.size.work import Engine

KINDS = ("sqlite", "postgres", "mariadb")


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Engine]:
    """Return what makes an engine of a kind."""

    def make(kind: str) -> Engine:
        if kind == "sqlite":
            return SqliteEngine(tmp_path_factory.mktemp("size"))
        return MariadbEngine() if kind == "mariadb" else PostgresEngine(pooled=kind == "pooled")

    return make
