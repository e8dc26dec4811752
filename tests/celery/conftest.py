"""A broker for the workers of this folder, and a store for tests without one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.celery.attempts import Attempt, leases

from tailrace import workflow
from tailrace.testing.servers.redis import RedisServer
from tailrace.workflow import RunStreams


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """The URL of a Redis server."""
    with RedisServer() as server:
        yield server.url


@pytest.fixture
def workflows(tmp_path: Path) -> Iterator[workflow.Workflows]:
    """A new store."""
    with workflow.connect(f"sqlite:///{tmp_path}/events.db") as opened:
        yield opened


@pytest.fixture
def run(workflows: workflow.Workflows) -> RunStreams:
    """A run in it."""
    return workflows.run("w", "r")


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """The end of every attempt that a test has begun, after which nothing keeps a lease."""
    yield
    while Attempt.made:
        Attempt.made.pop().ends(None)
    assert leases() == []
