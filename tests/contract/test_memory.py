"""The memory store passes the contract."""

import pytest

from tailrace.testing.builtin import MemoryUnderTest
from tailrace.testing.contract import *  # noqa: F403


@pytest.fixture
def store_under_test() -> MemoryUnderTest:
    return MemoryUnderTest()
