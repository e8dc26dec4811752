"""Opening stores on a file of the test's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.sqlite.steps import OpenStore

from tailrace.backends.sqlite import SqliteStore
from tailrace.backends.sqlite.location import Location
from tailrace.options import StoreOptions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the test's database is, or will be."""
    return tmp_path / "events.db"


@pytest.fixture
def open_store(path: Path) -> Iterator[OpenStore]:
    """Open another handle on the test's file, as another process would; all are closed at the end."""
    opened: list[SqliteStore] = []

    def opener(**options: Any) -> SqliteStore:
        opened.append(SqliteStore(Location(str(path)), StoreOptions(**options)))
        return opened[-1]

    yield opener
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> SqliteStore:
    """A store without retention."""
    return open_store()
