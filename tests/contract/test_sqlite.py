"""The SQLite store passes the contract."""

from pathlib import Path

import pytest
from tests.contract import drivers

from tailrace.testing.builtin import SqliteUnderTest
from tailrace.testing.contract import *  # noqa: F403

driver = drivers.driver


@pytest.fixture
def store_under_test(tmp_path: Path) -> SqliteUnderTest:
    return SqliteUnderTest(tmp_path)
