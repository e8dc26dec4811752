"""The other side of the SQLite benches: what one would write by hand, with the same guarantees.

Same connection class, pragmas, statements per commit and file lock as the store; no engine, no cursors.
"""

import fcntl
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

SCHEMA = """
create table topic (id integer primary key, name blob unique, last integer not null, sealed integer not null);
create table record (topic integer, position integer, tag integer, at integer, payload blob,
    primary key (topic, position));
insert into topic values (1, x'74', 0, 0);
"""


def create(path: Path) -> None:
    """Make the file."""
    connection = connect(path)
    connection.executescript(SCHEMA)
    connection.close()


def connect(path: Path) -> sqlite3.Connection:
    """Open it as the store opens its own."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    return connection


class Writer:
    """One thread's own connection and its own descriptor of the lock file."""

    def __init__(self, path: Path) -> None:
        self.connection = connect(path)
        self._lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)

    def commit(self, payloads: Sequence[bytes]) -> None:
        """Append rows in one commit, with a dense position and a seal check, under the file lock."""
        execute = self.connection.execute
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            execute("begin immediate")
            [last] = execute(
                "update topic set last = last + ? where name = ? and not sealed returning last", (len(payloads), b"t")
            ).fetchone()
            first = last - len(payloads) + 1
            self.connection.executemany(
                "insert into record values (1, ?, 7, 0, ?)", [(first + at, p) for at, p in enumerate(payloads)]
            )
            execute("commit")
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release both."""
        self.connection.close()
        os.close(self._lock)
