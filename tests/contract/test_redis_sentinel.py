"""The Redis store passes the contract on a primary that sentinels name."""

from collections.abc import Iterator

import pytest
from tests.redis_several import SentinelUnderTest

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.servers.redis import RedisSentinel

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def sentinel() -> Iterator[RedisSentinel]:
    with RedisSentinel() as sentinel:
        yield sentinel


@pytest.fixture
def store_under_test(sentinel: RedisSentinel) -> SentinelUnderTest:
    return SentinelUnderTest(sentinel)
