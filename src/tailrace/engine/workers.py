"""Threads for calls that block on the store, on behalf of those who must not block: event loops.

The engine's own, bounded, and started at first use; never a loop's default executor, which belongs to the
application and may be full.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

WORKERS = 8
"""Threads at most. Appends do not occupy one each: a whole batch waits in one."""


class Workers:
    """A lazily started pool. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._closed = False

    def run(self, work: Callable[[], T]) -> "Future[T]":
        """Run ``work`` in a worker; return its future."""
        with self._lock:
            if not self._closed:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="tailrace-worker")
                return self._pool.submit(work)
        # After close there is little left to do (the last batch, a close), but somebody waits for it.
        future: Future[T] = Future()
        threading.Thread(target=_run_into, args=(future, work), name="tailrace-worker-late", daemon=True).start()
        return future

    def close(self) -> None:
        """Let the threads end when they are done. Does not wait: one may be blocked on the store."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)


def _run_into(future: "Future[T]", work: Callable[[], T]) -> None:
    try:
        future.set_result(work())
    except BaseException as exc:  # noqa: BLE001 - it is raised where the future is awaited
        future.set_exception(exc)
