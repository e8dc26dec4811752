"""Waiting for descriptors, or to be rung: a pipe that any thread may write into."""

import contextlib
import os
import select
from collections.abc import Iterable

from tailrace import native


class Bell:
    """``wait`` is for one thread, which also closes it; ``ring`` is for all."""

    def __init__(self) -> None:
        # Under a ringing thread the descriptor must stay: its number could be given to somebody else.
        self._lock = native.lock()
        self._heard, self._rung = os.pipe()
        os.set_blocking(self._heard, False)
        os.set_blocking(self._rung, False)

    def ring(self) -> None:
        """Wake whoever waits, or will wait next. Never blocks, never raises."""
        # A pipe that is full wakes whoever waits as well.
        with self._lock, contextlib.suppress(BlockingIOError):
            if self._rung >= 0:
                os.write(self._rung, b"!")

    def wait(self, seconds: float, descriptors: Iterable[int]) -> set[int]:
        """Wait at most so long; return the descriptors that have news."""
        poll = select.poll()
        poll.register(self._heard, select.POLLIN)
        for descriptor in descriptors:
            poll.register(descriptor, select.POLLIN)
        # Rounded up: a pause that is cut to nothing would be waited for by going round.
        ready = {descriptor for descriptor, _ in poll.poll(-int(-max(0.0, seconds) * 1000 // 1))}
        if self._heard in ready:
            os.read(self._heard, 4096)
        return ready

    def close(self) -> None:
        """Close it. Idempotent; ringing it does nothing then."""
        with self._lock:
            self._close()

    def disown(self) -> None:
        """In a child process: close it, whoever had the lock."""
        self._lock = native.lock()
        self._close()

    def _close(self) -> None:
        fds, self._heard, self._rung = (self._heard, self._rung), -1, -1
        for fd in fds:
            if fd >= 0:
                os.close(fd)
