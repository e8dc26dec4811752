"""S20 among greenlets: ten thousand readers and kills, on both stores. Run by patched.py."""

from pathlib import Path

import pytest

from tailrace.testing.builtin import MemoryUnderTest, SqliteUnderTest
from tailrace.testing.contract.leaks import TestLeaks
from tailrace.testing.gevent_driver import GeventDriver
from tailrace.testing.stores import StoreUnderTest

__all__ = ["TestLeaks"]


@pytest.fixture
def driver() -> GeventDriver:
    return GeventDriver()


@pytest.fixture(params=["memory", "sqlite"])
def store_under_test(request: pytest.FixtureRequest, tmp_path: Path) -> StoreUnderTest:
    return MemoryUnderTest() if request.param == "memory" else SqliteUnderTest(tmp_path)


@pytest.fixture
def repeats() -> int:
    return 10_000
