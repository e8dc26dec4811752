"""The Redis store passes the contract among greenlets on a cluster. Run by patched.py."""

from collections.abc import Iterator

import pytest
from tests.redis_several import ClusterUnderTest

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.gevent_driver import GeventDriver
from tailrace.testing.servers.redis import RedisCluster


@pytest.fixture
def driver() -> GeventDriver:
    return GeventDriver()


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as cluster:
        yield cluster


@pytest.fixture
def store_under_test(cluster: RedisCluster) -> ClusterUnderTest:
    return ClusterUnderTest(cluster)
