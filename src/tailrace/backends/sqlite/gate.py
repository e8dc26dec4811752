"""One writer at a time, among all threads of all processes on one file, each in its turn.

SQLite's own lock is polled with growing pauses, which starves a process for seconds; this one is asked first.
It is an ``flock`` on a side file, and ends with the process that holds it, however that ends.
"""

import os
import time
from collections.abc import Callable, Collection
from typing import Generic, TypeVar

from tailrace import native
from tailrace.backends.sqlite import bell
from tailrace.backends.sqlite.gatefile import lock, open_file, try_lock, unlock
from tailrace.backends.sqlite.location import Location
from tailrace.errors import DurableStreamUnavailableError

T = TypeVar("T")

_LOOK_EVERY = 1.0
_POLITE_NS = 50_000_000

BUSY_HERE = "other threads of this process kept the store busy: nothing was stored"
_BUSY = "another process kept the store busy: nothing was stored"


class Job(Generic[T]):
    """What a caller left for the gate's thread to do once the lock is ours."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self.begun = self.ended = False
        self.done = native.Latch()
        self.error: BaseException | None = None
        self.result: T

    def run(self) -> None:
        """Do it; the caller gets the outcome, whatever it is."""
        try:
            self.result = self._work()
        except BaseException as exc:  # noqa: BLE001 - it is raised in the caller
            self.error = exc
        self.ended = True


class Gate:
    """The lock of one store object in one process. Thread-safe."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._turn = native.rlock()
        self._state = native.lock()
        self._fd: int | None = None
        self._job: Job[object] | None = None
        self._blocked = False
        self._wanted: native.Latch | None = None
        self._closed = False
        self._looked_at = 0.0
        self._polite = False

    def run(self, work: Callable[[], T], deadline: float) -> T:
        """Run ``work`` while this process, and this thread of it, is the only writer.

        Args:
            work: Bounded by itself; an exception of it is raised here.
            deadline: On the monotonic clock, for getting the lock.

        Raises:
            DurableStreamUnavailableError: Somebody else held the lock until the deadline (``maybe_stored`` is
                false), or ``work`` had begun and was not finished by then (``maybe_stored`` is true).
        """
        try:
            if not self._turn.acquire(blocking=False) and not self._turn.acquire(timeout=_left(deadline)):
                raise DurableStreamUnavailableError(BUSY_HERE)
            # While our thread waits for the lock nobody here may try for it: a file that is locked already is
            # locked again at no cost, and both would believe to be alone.
            if not self._blocked:
                fd = self._file()
                try:
                    if try_lock(fd, self._polite):
                        return work()
                finally:
                    # Also when an interrupt came between taking the lock and knowing it; it harms nobody otherwise.
                    unlock(fd)
            if not _left(deadline):
                raise DurableStreamUnavailableError(_BUSY)
            return self._wait_for(Job(work), deadline)
        finally:
            # An interrupt may come at any call, also right after the turn was taken; this lock knows whose it is.
            self._end_turn()

    def ring(self, moved: Collection[str]) -> None:
        """Tell everybody which topics were changed. Only inside ``run``, after the commit."""
        assert self._fd is not None
        wished_at = bell.ring(self._fd, moved)
        self._polite = time.monotonic_ns() - wished_at < _POLITE_NS

    def ensure_file(self) -> None:
        """Make the side file if it is missing."""
        with self._turn:
            if not self._blocked:
                self._file()

    def close(self) -> None:
        """Let go of the side file, now or when whoever is inside leaves. Idempotent, never raises."""
        self._closed = True
        with self._state:
            if self._wanted is not None:
                self._wanted.release()
        self._dispose()

    def disown(self) -> None:
        """Close the side file, and nothing else: in a child, its parent's lock must not live on in it."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _end_turn(self) -> None:
        try:
            self._turn.release()
        except RuntimeError:
            return
        if self._closed:
            self._dispose()

    def _dispose(self) -> None:
        # Whoever has the turn may be using the file, and ends here as well. Nobody who gets it later will.
        if self._turn.acquire(blocking=False):
            if not self._blocked:
                self.disown()
            self._turn.release()

    def _wait_for(self, job: Job[T], deadline: float) -> T:
        # An flock can not be given a time limit, so a thread waits for it, and the caller for the thread.
        with self._state:
            self._job = job  # type: ignore[assignment]
            if not self._blocked:
                self._blocked = True
                self._wake_thread()
        try:
            job.done.wait(_left(deadline))
        finally:
            with self._state:
                if not job.begun and self._job is job:
                    self._job = None
        if job.error is not None:
            raise job.error
        if job.ended:
            return job.result
        if job.begun:
            raise DurableStreamUnavailableError("the store did not finish in time", maybe_stored=True)
        raise DurableStreamUnavailableError(_BUSY)

    def _wake_thread(self) -> None:
        if self._wanted is None:
            self._wanted = native.Latch()
            native.start_thread(self._serve, "tailrace-sqlite-gate")
        self._wanted.release()

    def _serve(self) -> None:
        assert self._wanted is not None
        while True:
            self._wanted.wait()
            more = not self._closed
            while more:
                more = self._serve_one()
            if self._closed:
                self._dispose()
                return

    def _serve_one(self) -> bool:
        fd = self._fd
        assert fd is not None
        lock(fd)
        with self._state:
            job, self._job = self._job, None
            if job is not None:
                job.begun = True
        try:
            if job is not None:
                job.run()
        finally:
            unlock(fd)
            with self._state:
                self._blocked = more = self._job is not None
            if job is not None:
                job.done.release()
        return more

    def _file(self) -> int:
        if self._closed:
            raise DurableStreamUnavailableError("the store is closed")
        now = time.monotonic()
        if self._fd is not None and now > self._looked_at + _LOOK_EVERY:
            # Who removes or replaces the files (a restore) takes the gate with them, and two files would be two
            # locks: unfair, and unheard by watchers, but still behind SQLite's own.
            self._looked_at = now
            if os.fstat(self._fd).st_nlink == 0:
                self.disown()
        if self._fd is None:
            self._fd = open_file(self._location)
        return self._fd


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
