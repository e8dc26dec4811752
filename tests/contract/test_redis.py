"""The Redis store passes the contract, on a single server."""

from collections.abc import Iterator

import pytest
from tests.contract import drivers
from tests.redis_server import RedisUnderTest, redis_server

from tailrace.testing.contract import *  # noqa: F403

driver = drivers.driver


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with redis_server() as url:
        yield url


@pytest.fixture
def store_under_test(server: str) -> RedisUnderTest:
    return RedisUnderTest(server)
