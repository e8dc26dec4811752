"""Live delivery inside a process passes the broadcast kit."""

import pytest

from tailrace.testing.broadcast import *  # noqa: F403
from tailrace.testing.broadcast import MemoryPlaceUnderTest


@pytest.fixture
def place_under_test() -> MemoryPlaceUnderTest:
    return MemoryPlaceUnderTest()
