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


@pytest.fixture(params=["memory", *FORMS])
def place_under_test(server: RedisServer, request: pytest.FixtureRequest) -> PlaceUnderTest:
    form: str = request.param
    return MemoryPlaceUnderTest() if form == "memory" else RedisPlaceUnderTest(server, form)
