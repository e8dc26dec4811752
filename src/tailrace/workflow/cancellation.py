"""Ending a wait from elsewhere: whoever gives up says so once, and what waits for it ends. No I/O."""

import threading
from collections.abc import Callable


class Cancellation:
    """Ends a ``subscribe`` that waits, from any thread; and every later one that is given it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._callbacks: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """End what waits. Idempotent, never raises."""
        with self._lock:
            self._cancelled = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have ``callback`` called once, now or later, when it is cancelled; return what takes that back."""
        with self._lock:
            if not self._cancelled:
                self._callbacks.append(callback)
                return lambda: self._forget(callback)
        callback()
        return lambda: None

    def _forget(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)
