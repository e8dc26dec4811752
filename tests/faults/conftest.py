"""Every scenario runs on every store that it can apply to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tailrace.testing.builtin import MemoryUnderTest, SqliteUnderTest
from tailrace.testing.peers import Peer
from tailrace.testing.stores import StoreUnderTest


@pytest.fixture(params=["memory", "sqlite"])
def store_under_test(request: pytest.FixtureRequest, tmp_path: Path) -> StoreUnderTest:
    return MemoryUnderTest() if request.param == "memory" else SqliteUnderTest(tmp_path)


@pytest.fixture
def peer(store: StoreUnderTest) -> Iterator[Peer]:
    """Somebody else on the same store: a real second process wherever there can be one."""
    other = store.peer()
    yield other
    other.close()
