"""The store over HTTP passes the contract among greenlets; the server is another process. Run by patched.py."""

from collections.abc import Iterator

import pytest
from tests.http_server import HttpServer, HttpUnderTest, http_server

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.gevent_driver import GeventDriver


@pytest.fixture
def driver() -> GeventDriver:
    return GeventDriver()


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with http_server() as server:
        yield server


@pytest.fixture
def store_under_test(server: HttpServer) -> HttpUnderTest:
    return HttpUnderTest(server, None)
