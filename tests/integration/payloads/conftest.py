"""Servers for all tests of a file: one that speaks S3, and databases; with something of its own for each test."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.payloads.scene import Scene

from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.testing.servers.s3 import S3Server

_numbers = itertools.count()


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with S3Server() as server:
        yield server


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server believes; without any, the library would look for some on the network."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "tests")


@pytest.fixture
def bucket(s3: S3Server, credentials: None) -> str:
    name = f"payloads-{next(_numbers)}"
    s3.make_bucket(name)
    return name


@pytest.fixture(scope="module", params=["sqlite", "postgres", "mariadb"])
def database_server(request: pytest.FixtureRequest) -> Iterator[PostgresServer | MariadbServer | None]:
    """What databases are made on; ``None`` where they are files."""
    if request.param == "sqlite":
        yield None
        return
    with PostgresServer() if request.param == "postgres" else MariadbServer() as server:
        yield server


@pytest.fixture
def database_url(database_server: PostgresServer | MariadbServer | None, tmp_path: Path) -> str:
    if database_server is None:
        return f"sqlite:///{tmp_path}/runs.db"
    return database_server.url(database_server.create_database())


@pytest.fixture
def scene(database_url: str, tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(database_url, tmp_path)
    yield scene
    scene.close()
