"""The connections of one process to one file: a writer, a few readers, and a keeper.

The keeper is opened read-only and closed last. SQLite removes the write-ahead log when the last connection that
may write is closed, and a user with read-only rights could then not open the database; a read-only one can not
take the lock for it. It also answers whether anybody committed.

SQLite's locks belong to a process and to its memory: a connection that is carried through a fork leaves the child
without them. So no connection is open across a fork (``freeze``, ``thaw``), and a child makes its own.
"""

import ctypes
import os
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from tailrace import native
from tailrace.backends.sqlite.location import Location
from tailrace.backends.sqlite.opening import close_quietly, open_keeper, open_reader, open_writer, writable
from tailrace.backends.sqlite.patience import patiently
from tailrace.errors import DurableStreamUnavailableError

T = TypeVar("T")
Kind: TypeAlias = Literal["writer", "reader", "keeper"]

FORK_SECONDS = 5.0
"""How long a fork waits for calls in other threads to end, so that the child inherits no connection."""

OPEN_SECONDS = 5.0
"""How long opening waits for a file that another program keeps locked."""

# Closed in this order. More are opened when that many threads read at once, and closed afterwards.
_KEPT: dict[Kind, int] = {"writer": 1, "reader": 4, "keeper": 1}
_OPEN: dict[Kind, Callable[[Location], sqlite3.Connection]] = {
    "writer": open_writer,
    "reader": open_reader,
    "keeper": open_keeper,
}


class Connections:
    """Thread-safe, but for the writer: whoever holds the gate uses it alone."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._lock = native.lock()
        self._changed = native.Condition(self._lock)
        self._idle: dict[Kind, list[sqlite3.Connection]] = {kind: [] for kind in _KEPT}
        self._lent: dict[sqlite3.Connection, int] = {}
        self._inside: set[object] = set()
        self._file: tuple[int, ...] | None = None
        self._log: tuple[int, int] | None = None
        self._read_only: bool | None = None
        self._epoch = 0
        self._forks = 0
        self._closed = False

    @property
    def has_written(self) -> bool:
        """Whether there is a writer, so that there may be something in the log."""
        return bool(self._idle["writer"])

    def use(self, kind: Kind, work: Callable[[sqlite3.Connection], T]) -> T:
        """Lend a connection to ``work``. After any failure it is closed: whatever state it was in ends with it."""
        visit = object()
        try:
            self._enter(visit)
            connection = self._lend(kind)
            keep = False
            try:
                result = work(connection)
                keep = True
                return result
            finally:
                self._take_back(kind, connection, keep)
        finally:
            self._leave(visit)

    def pulse(self) -> tuple[int, int]:
        """Return what changes whenever anybody, with whatever program, has committed."""
        return self.use("keeper", self._version)

    def freeze(self) -> None:
        """Close everything before a fork, and lend nothing until ``thaw``."""
        with self._lock:
            self._forks += 1
            self._changed.wait_for(lambda: not self._inside, FORK_SECONDS)
            self._retire()

    def thaw(self) -> None:
        """Go on after a fork, in the parent."""
        with self._lock:
            self._forks -= 1
            self._changed.notify_all()

    def disown(self) -> None:
        """In a child: never let go of what was inherited after all, not even at its exit.

        Closing would act on the parent's locks and log with what this process believes about them.
        """
        for connection in (*self._lent, *(c for idle in self._idle.values() for c in idle)):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back. Never raises."""
        with self._lock:
            self._closed = True
            self._retire()
            self._changed.notify_all()

    def _enter(self, visit: object) -> None:
        # Until it leaves, also while a connection is being opened or closed: SQLite has locks of its own then, and
        # a child that was forked in such a moment would wait for them for ever.
        with self._lock:
            if self._forks:
                self._changed.wait_for(lambda: not self._forks)
            self._inside.add(visit)

    def _leave(self, visit: object) -> None:
        with self._lock:
            self._inside.discard(visit)
            if self._forks:
                self._changed.notify_all()

    def _lend(self, kind: Kind) -> sqlite3.Connection:
        file, log = self._identity(), self._log_file()
        with self._lock:
            if self._closed:
                raise DurableStreamUnavailableError("the store is closed")
            if file != self._file:
                # Somebody put another file in this place (a restored backup). What is open still shows the
                # old one, and would for ever; an append to it would be acknowledged and gone.
                self._retire()
                self._file = file
            elif self._log not in (None, log):
                # Somebody removed the log under open connections, which nothing of SQLite's does. They would go on
                # in the removed one, and an append be acknowledged that nobody else can ever see.
                self._retire()
            if self._idle[kind]:
                connection = self._idle[kind].pop()
                self._lent[connection] = self._epoch
                return connection
        return self._open(kind)

    def _log_file(self) -> tuple[int, int] | None:
        try:
            status = os.stat(f"{self._location.path}-wal")
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _open(self, kind: Kind) -> sqlite3.Connection:
        connection = self._opened(kind)
        log = self._log_file()
        with self._lock:
            self._lent[connection] = self._epoch
            if self._log is None:
                self._log = log
            keeper_missing = kind != "keeper" and not self._idle["keeper"]
        if keeper_missing:
            try:
                self._take_back("keeper", self._opened("keeper"), keep=True)
            except BaseException:
                self._take_back(kind, connection, keep=False)
                raise
        return connection

    def _opened(self, kind: Kind) -> sqlite3.Connection:
        # A file that another process is just making, or recovering after a crash, is locked for a moment.
        return patiently(partial(_OPEN[kind], self._location), time.monotonic() + OPEN_SECONDS)

    def _take_back(self, kind: Kind, connection: sqlite3.Connection, keep: bool) -> None:
        with self._lock:
            epoch = self._lent.pop(connection, self._epoch)
            keep = keep and epoch == self._epoch and not self._closed and len(self._idle[kind]) < _KEPT[kind]
            if keep:
                self._idle[kind].append(connection)
        if not keep:
            close_quietly(connection)

    def _identity(self) -> tuple[int, ...]:
        path = self._location.path
        try:
            status = os.stat(path)
        except FileNotFoundError as exc:
            raise DurableStreamUnavailableError(f"{path} is missing: was it moved or removed?") from exc
        if self._read_only is None:
            self._read_only = not writable(self._location)
        if self._read_only:
            # Without a log the file was taken for one that never changes. It has begun to, if one of these has.
            return status.st_dev, status.st_ino, status.st_mtime_ns, Path(f"{path}-wal").exists()
        return status.st_dev, status.st_ino

    def _retire(self) -> None:
        self._epoch += 1
        self._log = None
        for idle in self._idle.values():
            while idle:
                close_quietly(idle.pop())

    def _version(self, keeper: sqlite3.Connection) -> tuple[int, int]:
        ((version,),) = keeper.execute("PRAGMA data_version")
        return self._epoch, int(version)
