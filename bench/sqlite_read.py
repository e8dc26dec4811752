"""Catch-up: 200,000 small records through a subscription, against a bare cursor loop over the same file."""

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tailrace
from bench import raw_sqlite
from bench.catching_up import caught_up, filled
from bench.pairs import Result


def run(pairs: int) -> Iterator[Result]:
    """Measure one reader that is far behind."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "read.db"
        with tailrace.connect(f"sqlite:///{path}") as streams:
            topic = filled(streams.topic("t"))
            connection = raw_sqlite.connect(path)
            what = streams.capabilities.store
            yield caught_up(topic, lambda: through_a_cursor(connection), what=what, pairs=pairs, goal=0.4)
            connection.close()


def through_a_cursor(connection: sqlite3.Connection) -> int:
    """Return how many rows were fetched."""
    seen = 0
    for _position, _payload in connection.execute(
        "select position, payload from records where topic_id = 1 and position > 0 order by position"
    ):
        seen += 1
    return seen
