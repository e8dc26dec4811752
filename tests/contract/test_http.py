"""The store over HTTP passes the contract, whatever the server serves."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract import drivers
from tests.http_server import HttpServer, HttpUnderTest, Served, http_server, served_by

from tailrace.testing.contract import *  # noqa: F403

driver = drivers.driver

# All stand on the same code: the memory store runs always, and the others by `make test-long`.
_SERVED = ["memory", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("sqlite", "redis", "postgres"))]


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with http_server() as server:
        yield server


@pytest.fixture(scope="module", params=_SERVED)
def inner(request: pytest.FixtureRequest) -> Iterator[Served]:
    with served_by(request.param) as inner:
        yield inner


@pytest.fixture
def store_under_test(server: HttpServer, inner: Served, tmp_path: Path) -> HttpUnderTest:
    return HttpUnderTest(server, inner(tmp_path))
