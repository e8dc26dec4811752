"""The forms of live delivery pass the broadcast kit in RESP3, and on the newest and oldest servers."""

from collections.abc import Iterator

import pytest
from tests.broadcast.places import RedisPlaceUnderTest

from tailrace.testing.broadcast import *  # noqa: F403
from tailrace.testing.servers.redis import RedisServer, flavour

pytestmark = pytest.mark.long

PLACES = [
    "redis-7 pubsub 3",
    "redis-7 sharded 3",
    "redis-7 streams 3",
    "redis-8 pubsub 2",
    "redis-8 sharded 3",
    "redis-8 streams 2",
    "valkey pubsub 3",
    "valkey sharded 2",
    "valkey streams 3",
    "redis-6.2 pubsub 2",
    "redis-6.2 streams 3",
]


@pytest.fixture(scope="module", params=PLACES)
def started(request: pytest.FixtureRequest) -> Iterator[tuple[RedisServer, str, int]]:
    kind, form, protocol = request.param.split(" ")
    with RedisServer(flavour(kind)) as server:
        yield server, form, int(protocol)


@pytest.fixture
def place_under_test(started: tuple[RedisServer, str, int]) -> RedisPlaceUnderTest:
    return RedisPlaceUnderTest(*started)
