"""The three forms of live delivery pass the broadcast kit on a cluster."""

from collections.abc import Iterator

import pytest
from tests.broadcast.places import FORMS, ClusterPlaceUnderTest

from tailrace.testing.broadcast import *  # noqa: F403
from tailrace.testing.servers.redis import RedisCluster

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as cluster:
        yield cluster


@pytest.fixture(params=FORMS)
def place_under_test(cluster: RedisCluster, request: pytest.FixtureRequest) -> ClusterPlaceUnderTest:
    return ClusterPlaceUnderTest(cluster, request.param)
