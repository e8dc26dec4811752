"""The MySQL store passes the contract among greenlets, on MariaDB. Run by patched.py."""

from collections.abc import Iterator

import pytest
from tests.mysql_server import MysqlUnderTest, mariadb_server

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.gevent_driver import GeventDriver
from tailrace.testing.servers.mariadb import MariadbServer


@pytest.fixture
def driver() -> GeventDriver:
    return GeventDriver()


@pytest.fixture(scope="module")
def server() -> Iterator[MariadbServer]:
    with mariadb_server() as server:
        yield server


@pytest.fixture
def store_under_test(server: MariadbServer) -> MysqlUnderTest:
    return MysqlUnderTest(server)
