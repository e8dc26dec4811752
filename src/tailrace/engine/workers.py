"""Threads for calls that block on the store, on behalf of those who must not wait for it: event loops, and readers.

The engine's own, started when there is work and gone when there is none for a while; never a loop's default executor,
which belongs to the application and may be full. Daemons: a store that hangs keeps no process from ending.
"""

import functools
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from tailrace import native
from tailrace.engine.waiter import Latch

T = TypeVar("T")

IDLE_SECONDS = 5.0
"""Seconds that a thread waits for more work before it ends."""


class _Worker:
    """One thread that waits: what wakes it, and what it is to do then."""

    __slots__ = ("latch", "work")

    def __init__(self) -> None:
        self.latch = Latch()
        self.work: Callable[[], object] | None = None


class Workers:
    """A pool of threads. Thread-safe.

    Args:
        most: Pieces of work done at once, apart from those that are not to queue.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._queue: deque[Callable[[], object]] = deque()
        self._idle: list[_Worker] = []
        self._busy = 0
        self._closed = False

    def run(self, work: Callable[[], T], *, at_once: bool = False) -> "Future[T]":
        """Run ``work`` in a worker; return its future. Cancelled before it has begun, it is not done."""
        future: Future[T] = Future()
        self.start(functools.partial(_run_into, future, work), at_once=at_once)
        return future

    def start(self, work: Callable[[], object], *, at_once: bool = False) -> None:
        """Do ``work`` in a worker; it must not raise.

        Args:
            at_once: It does not queue, however many are busy: the caller sees to it that such work is not too much.
        """
        with self._lock:
            if not at_once and not self._closed:
                if self._busy >= self._most:
                    self._queue.append(work)
                    return
                self._busy += 1
                work = functools.partial(self._counted, work)
            # The one that came last: the others grow old enough to end.
            worker = self._idle.pop() if self._idle else None
            if worker is not None:
                worker.work = work
        if worker is not None:
            worker.latch.release()
            return
        try:
            threading.Thread(target=self._serve, args=(work,), name="tailrace-worker", daemon=True).start()
        except BaseException:
            # No thread to be had, or an interrupt: this piece of work occupies no place.
            with self._lock:
                self._busy -= not at_once
            raise

    def close(self) -> None:
        """Let the threads end when they are done. Does not wait: one may be blocked on the store.

        Somebody waits for what is started later (the last batch, a close): it is done all the same, in a new thread.
        """
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.latch.release()

    def _serve(self, work: Callable[[], object]) -> None:
        while True:
            work()
            del work
            worker = _Worker()
            with self._lock:
                # A greenlet costs nothing to start, and one that waits may lose its hub before it is woken.
                if self._closed or native.patched():
                    return
                self._idle.append(worker)
            worker.latch.wait(IDLE_SECONDS)
            with self._lock:
                if worker in self._idle:
                    self._idle.remove(worker)
                if worker.work is None:
                    return
                work = worker.work

    def _counted(self, work: Callable[[], object]) -> None:
        while True:
            work()
            with self._lock:
                if not self._queue:
                    self._busy -= 1
                    return
                work = self._queue.popleft()


def _run_into(future: "Future[T]", work: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as exc:  # noqa: BLE001 - it is raised where the future is awaited
        future.set_exception(exc)
