"""SQLite: the steps of its machine are counted as it goes, and each statement is explained afterwards."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

from tests.integration.size.work import EACH, SIZE, TAG, Done, Engine, Work

from tailrace.backends.sqlite import SqliteStore
from tailrace.backends.sqlite.location import Location
from tailrace.options import StoreOptions

_NUMBERS = "WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < {topics})"
_AT = "CAST(strftime('%s', 'now') AS INTEGER) * 1000000 - 18000000000 + i * 1000"
_TOPICS = f"""
INSERT INTO topics (id, name, incarnation, horizon_position, horizon_tag, last_position, last_tag, bytes, largest,
    first_at, touched_at)
{_NUMBERS} SELECT i, CAST(printf('t%07d', i) AS BLOB), i, iif(i % 10 = 0, {{each}}, 0), iif(i % 10 = 0, {{tag}}, 0),
    {{each}}, {{tag}}, iif(i % 10 = 0, 0, {{each}} * {{size}}), {{size}}, iif(i % 10 = 0, NULL, {_AT}), {_AT}
FROM numbers
"""
_RECORDS = """
INSERT INTO records (topic_id, position, tag, at, payload)
WITH RECURSIVE places (position) AS (SELECT 1 UNION ALL SELECT position + 1 FROM places WHERE position < {each})
SELECT id, position, {tag}, first_at, zeroblob({size}) FROM topics CROSS JOIN places WHERE first_at IS NOT NULL
ORDER BY id, position
"""
_GRAVES = f"""
INSERT INTO tombstones (name, incarnation, deleted_at)
{_NUMBERS} SELECT CAST(printf('g%07d', i) AS BLOB), i, {_AT} FROM numbers
"""


class SqliteEngine(Engine):
    """A file of its own."""

    per_row = 20

    def __init__(self, folder: Path) -> None:
        self.path = folder / "size.db"
        self.url = f"sqlite:///{self.path}"
        self._said: list[str] = []
        self._steps: list[int] = []
        self._listening = False

    def __enter__(self) -> Self:
        connect = sqlite3.connect

        def listened_to(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            connection = connect(*args, **kwargs)
            connection.set_trace_callback(self._hear)
            connection.set_progress_handler(self._count, 1)
            return connection

        self._bare = connect
        self._patch = patch.object(sqlite3, "connect", listened_to)
        self._patch.start()
        self.open().close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._patch.stop()
        self.path.unlink()

    def open(self, options: StoreOptions | None = None) -> Any:
        return SqliteStore(Location(str(self.path)), options or StoreOptions())

    def load(self, topics: int, each: int = EACH) -> None:
        self.topics = topics
        with closing(self._bare(self.path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            for statement, count in ((_TOPICS, topics), (_RECORDS, topics), (_GRAVES, topics // 10)):
                connection.execute(statement.format(topics=count, each=each, tag=TAG, size=SIZE))

    def perform(self, statement: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute(statement.format(topics="topics")).fetchall()

    def work(self, operation: Callable[[], object]) -> Work:
        self._said, self._steps = [], []
        self._listening = True
        operation()
        self._listening = False
        with closing(self._bare(self.path)) as connection:
            done = [
                Done(statement, scanned(connection, statement), steps)
                for statement, steps in zip(self._said, self._steps, strict=True)
            ]
        return Work(done, 0)

    def _hear(self, statement: str) -> None:
        if self._listening:
            self._said.append(statement)
            self._steps.append(0)

    def _count(self) -> int:
        if self._listening and self._steps:
            self._steps[-1] += 1
        return 0


def scanned(connection: sqlite3.Connection, statement: str) -> list[str]:
    """Return the tables and indexes that a statement reads from end to end."""
    if statement.split()[0].upper() not in ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH"):
        return []
    plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    return [text for _, _, _, text in plan if text.startswith("SCAN") and "CONSTANT" not in text]
