"""Real servers, one for each program that is here, and a pooler before each; a database of its own for each test."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest
from tests.integration.postgres.heads import Heads

from tailrace.backends.postgres.line import connect
from tailrace.backends.postgres.watch import PostgresWatch
from tailrace.testing.servers.postgres import Flavour, PgBouncer, PostgresServer, flavours

Watching: TypeAlias = Callable[[str], PostgresWatch]
"""Opens a watch on a server or pooler at a URL; closed after the test."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test with each server: always with the one that is chosen by default, the others take minutes."""
    if "kind" in metafunc.fixturenames:
        first, *others = flavours()
        params = [pytest.param(first, id=first.name)]
        params += [pytest.param(kind, id=kind.name, marks=pytest.mark.long) for kind in others]
        metafunc.parametrize("kind", params, scope="module")


@pytest.fixture(scope="module")
def server(kind: Flavour) -> Iterator[PostgresServer]:
    """A server that runs at the end of each test."""
    with PostgresServer(kind) as server:
        yield server


@pytest.fixture(scope="module")
def pooler(server: PostgresServer) -> Iterator[PgBouncer]:
    """A pooler that lends connections by transaction."""
    with PgBouncer(server) as pooler:
        yield pooler


@pytest.fixture
def heads(server: PostgresServer) -> Iterator[Heads]:
    """Heads of topics in a database of its own."""
    database = server.create_database()
    heads = Heads(database, server.url(database))
    yield heads
    heads.close()
    server.drop_database(database)


@pytest.fixture
def watching(heads: Heads) -> Iterator[Watching]:
    """Open watches."""
    opened = []

    def open_one(url: str) -> PostgresWatch:
        watch = PostgresWatch(lambda deadline: connect(url, deadline), heads.channels, heads.table, "PostgreSQL", 5.0)
        opened.append(watch)
        return watch

    yield open_one
    for watch in opened:
        watch.close()
