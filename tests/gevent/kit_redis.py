"""The Redis store passes the contract among greenlets. Run by patched.py."""

from collections.abc import Iterator

import pytest
from tests.redis_server import RedisUnderTest, redis_server

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.gevent_driver import GeventDriver


@pytest.fixture
def driver() -> GeventDriver:
    return GeventDriver()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with redis_server() as url:
        yield url


@pytest.fixture
def store_under_test(server: str) -> RedisUnderTest:
    return RedisUnderTest(server)
