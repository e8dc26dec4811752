"""The table of jobs: what was asked, who is at work on it until when, and the answer once it is complete.

Plain SQLite, no Tailrace. Every call blocks, opens the file anew and may come from any thread or process.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_TABLE = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY,
    prompt TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'failed')),
    answer TEXT,
    error TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    free_at REAL NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS jobs_by_turn ON jobs (free_at) WHERE state = 'waiting';
"""

_SELECT = "SELECT id, prompt, state, answer, error, attempts FROM jobs WHERE id = ?"

# One statement: of two workers that take at once, the second looks for a job after the first has its own.
_TAKE = """
UPDATE jobs SET worker = :worker, free_at = :until, attempts = attempts + 1
WHERE id = (SELECT id FROM jobs WHERE state = 'waiting' AND free_at <= :now ORDER BY free_at, rowid LIMIT 1)
RETURNING id, prompt, state, answer, error, attempts
"""


@dataclass(frozen=True, slots=True)
class Job:
    """One row.

    Attributes:
        state: ``waiting`` (for a worker, or for the one that has it), ``done`` or ``failed``.
        answer: All of it, once it is done.
        error: Why it failed, for people.
        attempts: How often a worker has begun with it.
    """

    id: str
    prompt: str
    state: str
    answer: str | None
    error: str | None
    attempts: int


class Jobs:
    """The table in one file.

    Args:
        path: Of the file; it is made if there is none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._opened() as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(_TABLE)

    def ask(self, job: str, prompt: str) -> Job:
        """Add a job and return it; if there is one of that id, return that one.

        So whoever got no answer asks again, and has asked once.
        """
        with self._opened() as database:
            database.execute("INSERT INTO jobs (id, prompt) VALUES (?, ?) ON CONFLICT DO NOTHING", (job, prompt))
            found = _job(database.execute(_SELECT, (job,)))
        assert found is not None
        return found

    def get(self, job: str) -> Job | None:
        """Return a job, or ``None``."""
        with self._opened() as database:
            return _job(database.execute(_SELECT, (job,)))

    def take(self, worker: str, lease: float) -> Job | None:
        """Give the worker a job that nobody has, for so many seconds; ``None`` if there is none."""
        now = time.time()
        with self._opened() as database:
            return _job(database.execute(_TAKE, {"worker": worker, "until": now + lease, "now": now}))

    def keep(self, job: str, worker: str, lease: float) -> bool:
        """Say that the worker is alive; return whether the job is still its own."""
        with self._opened() as database:
            kept = database.execute(
                "UPDATE jobs SET free_at = ? WHERE id = ? AND worker = ? AND state = 'waiting'",
                (time.time() + lease, job, worker),
            )
            return kept.rowcount == 1

    def give_back(self, job: str, worker: str, after: float = 0.0, *, tried: bool = True) -> None:
        """Let another worker have the job, in so many seconds; ``tried=False``: as if this one had not begun."""
        with self._opened() as database:
            database.execute(
                "UPDATE jobs SET free_at = ?, worker = NULL, attempts = attempts - ?"
                " WHERE id = ? AND worker = ? AND state = 'waiting'",
                (time.time() + after, 0 if tried else 1, job, worker),
            )

    def finish(self, job: str, *, answer: str | None = None, error: str | None = None) -> None:
        """Note how a job has ended. The first end stands.

        Whoever comes to the end may say so, also a worker that has lost the job meanwhile: both have the same text.
        """
        with self._opened() as database:
            database.execute(
                "UPDATE jobs SET state = ?, answer = ?, error = ?, worker = NULL WHERE id = ? AND state = 'waiting'",
                ("done" if error is None else "failed", answer, error, job),
            )

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._path, timeout=10)
        try:
            with database:
                yield database
        finally:
            database.close()


def _job(rows: sqlite3.Cursor) -> Job | None:
    found = rows.fetchone()
    return None if found is None else Job(*found)
