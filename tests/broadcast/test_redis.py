"""The three forms of live delivery over Redis pass the broadcast kit."""

from collections.abc import Iterator

import pytest
from tests.broadcast.places import FORMS, RedisPlaceUnderTest

from tailrace.testing.broadcast import *  # noqa: F403
from tailrace.testing.broadcast.drivers import Driver
from tailrace.testing.broadcast.fixtures import DRIVERS
from tailrace.testing.servers.redis import RedisServer

_PARAMS = [
    pytest.param(driver, id=driver.name, marks=() if driver is DRIVERS[0] else pytest.mark.long) for driver in DRIVERS
]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(params=_PARAMS)
def driver(request: pytest.FixtureRequest) -> Driver:
    """The colour that the case is performed in: the awaited one only by `make test-long`."""
    chosen: Driver = request.param
    return chosen


@pytest.fixture(params=FORMS)
def place_under_test(server: RedisServer, request: pytest.FixtureRequest) -> RedisPlaceUnderTest:
    return RedisPlaceUnderTest(server, request.param)
