"""What tests do with a store, in one word each."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.backends.sqlite import SqliteStore
from tailrace.spi import Appended, AppendOutcome, Boundary, Bounds, Entry, Page, Place, ReadOutcome, ReadRequest

OpenStore = Callable[..., SqliteStore]
"""The fixture ``open_store``."""


def put(store: SqliteStore, topic: str, *payloads: bytes) -> Boundary:
    """Append in one entry and return the place of the last."""
    outcome = try_put(store, topic, *payloads)
    assert isinstance(outcome, Appended), outcome
    return outcome.end


def try_put(store: SqliteStore, topic: str, *payloads: bytes, timeout: float = 10.0) -> AppendOutcome:
    """Append in one entry and return what became of it."""
    (outcome,) = store.append([Entry(topic, payloads)], timeout)
    return outcome


def look(store: SqliteStore, topic: str, after: Place, max_records: int = 1000, max_bytes: int = 2**30) -> ReadOutcome:
    """Read one topic."""
    (outcome,) = store.read([ReadRequest(topic, after, max_records, max_bytes)])
    return outcome


def payloads(store: SqliteStore, topic: str, after: Place) -> list[bytes]:
    """Read everything after a place that must hold."""
    found: list[bytes] = []
    while True:
        page = look(store, topic, after)
        assert isinstance(page, Page), page
        found += [payload for _, _, payload in page.records]
        if not page.more:
            return found
        after = page.end


def beginning(store: SqliteStore, topic: str) -> Boundary:
    """Return the place before the earliest record of an existing topic."""
    bounds = store.bounds(topic)
    assert isinstance(bounds, Bounds)
    return bounds.beginning


@contextmanager
def other_program(path: Path) -> Iterator[sqlite3.Connection]:
    """Use the file as a program that is not ours would; commits at the end."""
    connection = sqlite3.connect(path)
    try:
        with connection:
            yield connection
    finally:
        connection.close()
