"""Hints inside one process: a set of topic names and a condition."""

import contextlib
import threading
from collections.abc import Collection

from typing_extensions import override

from tailrace.spi import Changes, Watch


class MemoryWatch(Watch):
    """One engine's view of what moved."""

    def __init__(self, siblings: "list[MemoryWatch]") -> None:
        self._siblings = siblings
        # Taken by itself, and not through the condition: that one's way in is Python code, where an interrupt of the
        # caller would leave the lock taken for ever.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._followed: set[str] = set()
        self._moved: set[str] = set()
        self._interrupted = False

    @property
    @override
    def reliable(self) -> bool:
        return True

    @override
    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        with self._lock:
            self._followed.difference_update(dropped)
            self._followed.update(added)

    @override
    def wait(self, timeout: float) -> Changes:
        with self._lock:
            if not self._moved and not self._interrupted:
                self._changed.wait(timeout)
            moved, self._moved, self._interrupted = self._moved, set(), False
        return Changes(frozenset(moved))

    @override
    def interrupt(self) -> None:
        with self._lock:
            self._interrupted = True
            self._changed.notify()

    def moved(self, topics: Collection[str]) -> None:
        """Note that topics moved. Called by the store."""
        with self._lock:
            hit = self._followed.intersection(topics)
            if hit:
                self._moved |= hit
                self._changed.notify()

    @override
    def close(self) -> None:
        with contextlib.suppress(ValueError):
            self._siblings.remove(self)
        self.interrupt()
