"""S24 among greenlets, on both stores. Run by patched.py."""

from pathlib import Path

import pytest
from tests.faults.test_s24_slow_reader import (
    test_a_laggard_is_told_before_the_hole_and_can_resume_where_it_can_go_on,
    test_a_stalled_reader_does_not_keep_a_retention_from_taking_what_it_may,
    test_slow_and_stalled_readers_beside_fast_ones,
)

from tailrace.testing.builtin import MemoryUnderTest, SqliteUnderTest
from tailrace.testing.gevent_driver import GeventDriver
from tailrace.testing.stores import StoreUnderTest

__all__ = [
    "test_a_laggard_is_told_before_the_hole_and_can_resume_where_it_can_go_on",
    "test_a_stalled_reader_does_not_keep_a_retention_from_taking_what_it_may",
    "test_slow_and_stalled_readers_beside_fast_ones",
]


@pytest.fixture
def driver() -> GeventDriver:
    return GeventDriver()


@pytest.fixture(params=["memory", "sqlite"])
def store_under_test(request: pytest.FixtureRequest, tmp_path: Path) -> StoreUnderTest:
    return MemoryUnderTest() if request.param == "memory" else SqliteUnderTest(tmp_path)
