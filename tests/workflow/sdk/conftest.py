"""Runs in a SQLite file, used in this process and over HTTP: the same calls, the same outcomes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.http.doors.serving import Served, served
from tests.workflow.sdk.answers import Awaited, Blocking, Calls, Opened

from tailrace import workflow
from tailrace.workflow import RunStreams, Workflows

TOKEN = "tok-of-the-tests-0123456789"


@pytest.fixture
def db(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'events.db'}"


@pytest.fixture
def embedded(db: str) -> Iterator[Workflows]:
    with workflow.connect(db) as workflows:
        yield workflows


@pytest.fixture
def server(db: str) -> Iterator[Served]:
    with served(db) as server:
        yield server


@pytest.fixture
def remote(server: Served) -> Iterator[Workflows]:
    with workflow.connect(server.url, token=TOKEN) as workflows:
        yield workflows


@pytest.fixture(params=["embedded", "remote"])
def workflows(request: pytest.FixtureRequest) -> Workflows:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Workflows)
    return found


@pytest.fixture
def run(workflows: Workflows) -> RunStreams:
    return workflows.run("order/7", "run 1")


@pytest.fixture(params=[Blocking, Awaited])
def opened(request: pytest.FixtureRequest) -> Iterator[Opened]:
    made: list[Calls] = []

    def open_(url: str, timeout: float = 20.0) -> Calls:
        made.append(request.param(url, timeout))
        return made[-1]

    yield open_
    for calls in made:
        calls("close")
