"""The memory store passes the contract among greenlets. Run by patched.py."""

import pytest

from tailrace.testing.builtin import MemoryUnderTest
from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.gevent_driver import GeventDriver


@pytest.fixture
def driver() -> GeventDriver:
    return GeventDriver()


@pytest.fixture
def store_under_test() -> MemoryUnderTest:
    return MemoryUnderTest()
