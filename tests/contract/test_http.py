"""The store over HTTP passes the contract, whatever the server serves."""

from collections.abc import Iterator

import pytest
from tests.http_server import HttpServer, HttpUnderTest, http_server

from tailrace.testing.contract import *  # noqa: F403


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with http_server() as server:
        yield server


@pytest.fixture
def store_under_test(server: HttpServer) -> HttpUnderTest:
    return HttpUnderTest(server, None)
