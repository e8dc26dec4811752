"""What one process has open of one store: connections, gate, watches; and what happens to them at a fork.

Everything that touches the file goes through ``read`` and ``write`` here, which let no foreign exception out.
"""

import contextlib
import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

from tailrace.backends.sqlite import opening
from tailrace.backends.sqlite.connections import Connections, call
from tailrace.backends.sqlite.errors import busy, explain, mapped, primary_code
from tailrace.backends.sqlite.gate import Gate
from tailrace.backends.sqlite.location import Location
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds that a read waits for a database that another program keeps locked."""

_PAUSE = 0.002


class Disowned(Protocol):
    """Something with file descriptors that a child must not use."""

    def disown(self) -> None:
        """Close them, and do nothing else."""
        ...

    def close(self) -> None:
        """Close for good."""
        ...


class Session:
    """One process's end of a store. Thread-safe."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.gate = Gate(location)
        self.connections = Connections(location)
        self.watches: weakref.WeakSet[Disowned] = weakref.WeakSet()
        _sessions.add(self)

    def open(self, *, create: bool, timeout: float) -> None:
        """Find out that the store can be used, and make or migrate it if need be and allowed.

        Raises:
            StoreUnusableError: It can not be used; the message says why.
            DurableStreamUnavailableError: It has to be migrated, and somebody kept it busy for ``timeout`` seconds.
        """
        with mapped(self.location.path):
            self._find_file(create)
            if opening.writable(self.location):
                # Made now, so that a reader has something to watch before the first append.
                self.gate.ensure_file()
            try:
                self.connections.pulse()
            except opening.OutdatedSchemaError:
                if not opening.writable(self.location):
                    raise
                self.migrate(timeout)

    def migrate(self, timeout: float) -> None:
        """Bring the file up to this release; opening the writer does that."""
        self.write(lambda _: (None, ()), timeout)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in one read transaction.

        Raises:
            DurableStreamUnavailableError: The file could not be read.
        """
        with mapped(self.location.path):
            return _patiently(lambda: self.connections.read(work), time.monotonic() + PATIENCE)

    def write(self, work: Callable[[sqlite3.Connection], tuple[T, Collection[str]]], timeout: float) -> T:
        """Run ``work`` in one write transaction and tell everybody which topics it changed.

        Args:
            work: Returns its result and the topics that it changed. Called once.
            timeout: Seconds to wait for other writers.

        Raises:
            DurableStreamUnavailableError: Nothing was stored, or (``maybe_stored``) it is not known.
        """
        deadline = time.monotonic() + timeout
        with mapped(self.location.path):
            return call(
                lambda: self.gate.run(
                    lambda: self.connections.write(lambda writer: self._transaction(writer, work, deadline)), deadline
                )
            )

    def close(self) -> None:
        """Close everything that this process opened. Idempotent, never raises."""
        for watch in tuple(self.watches):
            watch.close()
        self._empty_log()
        self.connections.close()
        self.gate.close()

    def disown(self) -> None:
        """In a child: leave what the parent opened alone."""
        self.connections.disown()
        self.gate.disown()
        for watch in tuple(self.watches):
            watch.disown()

    def _find_file(self, create: bool) -> None:
        path = self.location.path
        if path.is_dir():
            raise StoreUnusableError(f"{path} is a directory, not a database file")
        if not path.parent.is_dir():
            raise StoreUnusableError(f"{path} can not be opened: its directory does not exist")
        if not path.exists():
            if not create:
                raise StoreUnusableError(f"{path} does not exist, and creating it was not allowed (create=False)")
            with contextlib.suppress(FileExistsError):
                opening.create(self.location)

    def _empty_log(self) -> None:
        # So that after the last user left the one file is all there is to copy. In nobody's way: if it is not
        # possible right now, somebody else is still there, or the next one does it.
        if self.connections.has_written:
            with contextlib.suppress(sqlite3.Error, OSError, DurableStreamUnavailableError):
                self.gate.run(
                    lambda: self.connections.write(lambda writer: writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")),
                    time.monotonic(),
                )

    def _transaction(
        self,
        writer: sqlite3.Connection,
        work: Callable[[sqlite3.Connection], tuple[T, Collection[str]]],
        deadline: float,
    ) -> T:
        _patiently(lambda: writer.execute("BEGIN IMMEDIATE"), deadline)
        # An exception from here on ends with the connection, which takes the transaction with it.
        result, moved = work(writer)
        if moved:
            self.gate.bell.begin(self.gate.fd)
        try:
            writer.execute("COMMIT")
        except sqlite3.Error as exc:
            error = explain(exc, self.location.path)
            error.maybe_stored = not _rolled_back(writer, exc)
            raise error from exc
        if moved:
            # Stored is stored: what is not rung is found by the next writer, or by the watch's slow look.
            with contextlib.suppress(OSError):
                self.gate.bell.ring(self.gate.fd, moved)
        return result


def _rolled_back(writer: sqlite3.Connection, exc: sqlite3.Error) -> bool:
    """Whether a commit that failed is certain to have stored nothing."""
    # A failed write or fsync may leave the whole commit in the log: the next start would find it there.
    if primary_code(exc) == sqlite3.SQLITE_IOERR or not writer.in_transaction:
        return False
    try:
        writer.execute("ROLLBACK")
    except sqlite3.Error:
        return False
    return not writer.in_transaction


def _patiently(work: Callable[[], T], deadline: float) -> T:
    while True:
        try:
            return work()
        except sqlite3.OperationalError as exc:
            if not busy(exc) or time.monotonic() >= deadline:
                raise
        time.sleep(_PAUSE)


_sessions: weakref.WeakSet[Session] = weakref.WeakSet()
_hooked = False


def survive_forks() -> None:
    """Have every session closed around forks of this process. Called when a store is opened; once is enough."""
    global _hooked
    if not _hooked:
        _hooked = True
        os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)


def _before_fork() -> None:
    for session in tuple(_sessions):
        session.connections.freeze()


def _after_in_parent() -> None:
    for session in tuple(_sessions):
        session.connections.thaw()


def _after_in_child() -> None:
    for session in tuple(_sessions):
        session.disown()
        _sessions.discard(session)
