"""Live delivery passes the broadcast kit among greenlets. Run by patched.py."""

from collections.abc import Iterator

import pytest
from tests.broadcast.places import FORMS, RedisPlaceUnderTest

from tailrace.testing.broadcast import *  # noqa: F403
from tailrace.testing.broadcast import MemoryPlaceUnderTest, PlaceUnderTest
from tailrace.testing.servers.redis import RedisServer


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


# In RESP3 the answers are told apart otherwise, and that is what waits; each form in one protocol is enough.
@pytest.fixture(params=["memory", *zip(FORMS, (3, 2, 3), strict=True)], ids=str)
def place_under_test(server: RedisServer, request: pytest.FixtureRequest) -> PlaceUnderTest:
    return MemoryPlaceUnderTest() if request.param == "memory" else RedisPlaceUnderTest(server, *request.param)
