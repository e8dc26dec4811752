"""The only place where anybody waits for a record or for a turn to append.

A wake-up is a hint without data: whoever wakes looks again. Every waiting party has its own waiter, so
no wake-up can be consumed by somebody else.
"""

import threading
from collections.abc import Callable

from tailrace import native


class Latch:
    """Lets one thread sleep until another releases it. A release before the sleep is not lost.

    A lock used as a wake-up: a third of the price of a condition or an event. Made by the thread that will sleep: a
    greenlet can only be woken from the thread of its hub.
    """

    __slots__ = ("_home", "_lock")

    def __init__(self) -> None:
        self._home = native.home()
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self, timeout: float) -> bool:
        """Block until released, at most ``timeout`` seconds; return whether it was."""
        return self._lock.acquire(timeout=max(timeout, 0.0))

    def release(self) -> None:
        """Wake the sleeper, or the next one to come. Any thread; releasing twice wakes once."""
        if self._home is None or not native.sent_home(self._home, self._release):
            self._release()

    def _release(self) -> None:
        try:  # noqa: SIM105 - half the price of suppress(), for every append that shares a commit
            self._lock.release()
        except RuntimeError:
            pass


class Waiter:
    """What one subscription waits on. ``fire`` may come from any thread, and for no reason.

    Usage, in this order, or a wake-up is missed: read ``generation``, look for something to do, and only
    if there is nothing ``wait`` with the generation read before. A ``fire`` in between changes it.
    """

    __slots__ = ("_sleeper", "generation")

    def __init__(self) -> None:
        self.generation = 0
        self._sleeper: Callable[[], None] | None = None

    def fire(self) -> None:
        """Wake whoever waits. Never blocks."""
        # First the generation, then the sleeper; a waiter does it in the opposite order. Whichever of
        # them comes second sees the other.
        self.generation += 1
        sleeper = self._sleeper
        if sleeper is not None:
            sleeper()

    def listen(self, sleeper: Callable[[], None]) -> None:
        """Set what ``fire`` calls (it must not block). For one waiting party at a time."""
        self._sleeper = sleeper

    def leave(self, sleeper: Callable[[], None]) -> None:
        """Stop listening; does nothing if somebody else listens by now.

        A cancelled task, or a killed greenlet, comes here only when it runs again, and its successor may have begun
        to wait before that.
        """
        if self._sleeper is sleeper:
            self._sleeper = None

    def wait(self, generation: int, timeout: float) -> None:
        """Block until ``fire`` is called, at most ``timeout`` seconds."""
        latch = Latch()
        wake = latch.release
        self._sleeper = wake
        try:
            if self.generation == generation:
                latch.wait(timeout)
        finally:
            self.leave(wake)
