"""The SQLite store passes the contract among greenlets. Run by patched.py."""

from pathlib import Path

import pytest

from tailrace.testing.builtin import SqliteUnderTest
from tailrace.testing.contract import *  # noqa: F403
from tailrace.testing.gevent_driver import GeventDriver


@pytest.fixture
def driver() -> GeventDriver:
    return GeventDriver()


@pytest.fixture
def store_under_test(tmp_path: Path) -> SqliteUnderTest:
    return SqliteUnderTest(tmp_path)
