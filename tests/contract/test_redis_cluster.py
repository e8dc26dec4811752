"""The Redis store passes the contract on a cluster of three nodes."""

from collections.abc import Iterator

import pytest
from tests.redis_several import ClusterUnderTest

from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.servers.redis import RedisCluster

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as cluster:
        yield cluster


@pytest.fixture
def store_under_test(cluster: RedisCluster) -> ClusterUnderTest:
    return ClusterUnderTest(cluster)
