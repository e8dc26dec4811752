"""The three forms of live delivery over Redis pass the broadcast kit."""

from collections.abc import Iterator

import pytest
from tests.broadcast.places import FORMS, RedisPlaceUnderTest

from tailrace.testing.broadcast import *  # noqa: F403
from tailrace.testing.servers.redis import RedisServer


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(params=FORMS)
def place_under_test(server: RedisServer, request: pytest.FixtureRequest) -> RedisPlaceUnderTest:
    return RedisPlaceUnderTest(server, request.param)
