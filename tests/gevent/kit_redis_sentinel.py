"""The Redis store passes the contract among greenlets on a primary that sentinels name. Run by patched.py."""

from collections.abc import Iterator

import pytest
from tests.redis_several import SentinelUnderTest

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.gevent_driver import GeventDriver
from tailrace.testing.servers.redis import RedisSentinel


@pytest.fixture
def driver() -> GeventDriver:
    return GeventDriver()


@pytest.fixture(scope="module")
def sentinel() -> Iterator[RedisSentinel]:
    with RedisSentinel() as sentinel:
        yield sentinel


@pytest.fixture
def store_under_test(sentinel: RedisSentinel) -> SentinelUnderTest:
    return SentinelUnderTest(sentinel)
