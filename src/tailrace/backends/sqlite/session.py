"""What one process has open of one store: connections, gate, watches; and what happens to them at a fork.

Everything that touches the file goes through ``read`` and ``write`` here, which let no foreign exception out.
"""

import contextlib
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

from tailrace import native
from tailrace.backends.sqlite import opening
from tailrace.backends.sqlite.connections import Connections
from tailrace.backends.sqlite.errors import Mapped, explain, primary_code
from tailrace.backends.sqlite.forking import close_around_forks
from tailrace.backends.sqlite.gate import BUSY_HERE, Gate
from tailrace.backends.sqlite.location import Location
from tailrace.backends.sqlite.patience import patiently
from tailrace.errors import DurableStreamUnavailableError
from tailrace.native import call

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds that a read waits for a database that another program keeps locked."""


class Disowned(Protocol):
    """Something with file descriptors that a child must not use."""

    def disown(self) -> None:
        """Close them, and do nothing else."""
        ...

    def close(self) -> None:
        """Close for good."""
        ...


Change: TypeAlias = Callable[[sqlite3.Connection], tuple[T, Collection[str]]]
"""What is done in a write transaction: returns its result, and the topics that it changed. Called once."""


class Session:
    """One process's end of a store. Thread-safe."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.gate = Gate(location)
        self.connections = Connections(location)
        self.watches: weakref.WeakSet[Disowned] = weakref.WeakSet()
        self.mapped = Mapped(location.path)
        self._line = threading.RLock()
        close_around_forks(self)

    def open(self, *, create: bool, timeout: float) -> None:
        """Find out that the store can be used, and make or migrate it if need be and allowed.

        Raises:
            StoreUnusableError: It can not be used; the message says why.
            DurableStreamUnavailableError: It has to be migrated, and somebody kept it busy for ``timeout`` seconds.
        """
        with self.mapped:
            opening.find(self.location, create)
            if opening.writable(self.location):
                # Made now, so that a reader has something to watch before the first append.
                call(self.gate.ensure_file)
            try:
                self.pulse()
            except opening.OutdatedSchemaError:
                if not opening.writable(self.location):
                    raise
                self.migrate(timeout)

    def migrate(self, timeout: float) -> None:
        """Bring the file up to this release; opening the writer does that."""
        self.write(lambda _: (None, ()), timeout)

    def pulse(self) -> tuple[int, int]:
        """Return what changes whenever anybody, with whatever program, has committed."""
        with self.mapped:
            return call(self.connections.pulse)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in one read transaction, which ends with the call.

        Raises:
            DurableStreamUnavailableError: The file could not be read.
        """
        with self.mapped:
            return call(partial(self._read, work))

    def write(self, work: Change[T], timeout: float) -> T:
        """Run ``work`` in one write transaction and tell everybody which topics it changed.

        Args:
            work: See ``Change``.
            timeout: Seconds to wait for other writers.

        Raises:
            DurableStreamUnavailableError: Nothing was stored, or (``maybe_stored``) it is not known.
        """
        deadline = time.monotonic() + timeout
        turn = partial(self.connections.use, "writer", partial(self._transaction, work, deadline))
        with self.mapped:
            if not native.patched():
                return self.gate.run(turn, deadline)
            with self._in_line(deadline):
                return call(partial(self.gate.run, turn, deadline))

    def close(self) -> None:
        """Close everything that this process opened. Idempotent, never raises."""
        for watch in tuple(self.watches):
            watch.close()
        call(self._close_files)

    def before_fork(self) -> None:
        """Close what a child must not inherit; wait for calls in other threads to end."""
        self.connections.freeze()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self.connections.thaw()

    def disown(self) -> None:
        """In a child: leave what the parent opened alone."""
        self.connections.disown()
        self.gate.disown()
        for watch in tuple(self.watches):
            watch.disown()

    @contextlib.contextmanager
    def _in_line(self, deadline: float) -> Iterator[None]:
        # Greenlets wait for each other here: in the gate each would keep a thread of the hub's pool, and a writer in
        # another process would soon have stopped everything else that needs one. Threads go straight to the gate.
        try:
            if not self._line.acquire(timeout=max(0.0, deadline - time.monotonic())):
                raise DurableStreamUnavailableError(BUSY_HERE)
            yield
        finally:
            with contextlib.suppress(RuntimeError):
                self._line.release()

    def _close_files(self) -> None:
        self._empty_log()
        self.connections.close()
        self.gate.close()

    def _empty_log(self) -> None:
        # So that after the last user left the one file is all there is to copy. In nobody's way: if it is not
        # possible right now, somebody else is still there, or the next one does it.
        if self.connections.has_written:
            checkpoint = partial(self.connections.use, "writer", _checkpoint)
            with contextlib.suppress(sqlite3.Error, OSError, DurableStreamUnavailableError):
                self.gate.run(checkpoint, time.monotonic())

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        turn = partial(self.connections.use, "reader", partial(_in_transaction, work))
        return patiently(turn, time.monotonic() + PATIENCE)

    def _transaction(self, work: Change[T], deadline: float, writer: sqlite3.Connection) -> T:
        # Whoever holds the gate finds SQLite's own lock free, unless another program is in there.
        patiently(partial(writer.execute, "BEGIN IMMEDIATE"), deadline)
        # An exception from here on ends with the connection, which takes the transaction with it.
        result, moved = work(writer)
        try:
            writer.execute("COMMIT")
        except sqlite3.Error as exc:
            error = explain(exc, self.location.path)
            error.maybe_stored = not _rolled_back(writer, exc)
            raise error from exc
        if moved:
            # Stored is stored: what could not be rung is found by the watch's slow look.
            with contextlib.suppress(OSError):
                self.gate.ring(moved)
        return result


def _in_transaction(work: Callable[[sqlite3.Connection], T], reader: sqlite3.Connection) -> T:
    reader.execute("BEGIN")
    result = work(reader)
    reader.execute("COMMIT")
    return result


def _checkpoint(writer: sqlite3.Connection) -> None:
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _rolled_back(writer: sqlite3.Connection, exc: sqlite3.Error) -> bool:
    """Whether a commit that failed is certain to have stored nothing."""
    # Of these, SQLite says so, and may have rolled back by itself. After any other (a sync that failed, say) the whole
    # commit may be in the log, where the next start would find it.
    if primary_code(exc) not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY):
        return False
    try:
        if writer.in_transaction:
            writer.execute("ROLLBACK")
    except sqlite3.Error:
        return False
    return True
