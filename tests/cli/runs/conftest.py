"""A run with streams, and ``tailrace runs`` on its database, or on a server of it."""

from collections.abc import Callable, Iterator

import pytest
from tests.cli.commands import Command
from tests.http.doors.serving import served

from tailrace import workflow
from tailrace.workflow import RunStreams, Workflows

HERE = ("order/7", "r1")

Runs = Callable[..., bytes]


@pytest.fixture
def workflows(db: str) -> Iterator[Workflows]:
    with workflow.connect(db) as workflows:
        yield workflows


@pytest.fixture
def streams(workflows: Workflows) -> RunStreams:
    return workflows.run(*HERE)


@pytest.fixture(params=["database", "server"])
def store(request: pytest.FixtureRequest, db: str) -> Iterator[str]:
    if request.param == "database":
        yield db
        return
    with served(db) as server:
        yield server.url


@pytest.fixture
def runs(run: Command, store: str) -> Runs:
    def command(name: str, *arguments: str, stdin: bytes = b"", code: int = 0) -> bytes:
        return run("runs", name, *arguments, "--store", store, stdin=stdin, code=code).stdout

    return command
