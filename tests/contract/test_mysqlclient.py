"""The MySQL store passes the contract with the other driver, on MariaDB."""

from collections.abc import Iterator

import pytest
from tests.contract import drivers
from tests.mysql_server import MysqlUnderTest, mariadb_server
from tests.mysqlclient import require_mysqlclient

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.servers.mariadb import MariadbServer

pytestmark = pytest.mark.long
driver = drivers.driver


@pytest.fixture(scope="module")
def server() -> Iterator[MariadbServer]:
    require_mysqlclient()
    with mariadb_server() as server:
        yield server


@pytest.fixture
def store_under_test(server: MariadbServer) -> MysqlUnderTest:
    return MysqlUnderTest(server, driver="mysqlclient")
