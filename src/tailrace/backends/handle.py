"""What handles on servers have in common: they are open or closed, and know the watches that they have opened."""

import weakref
from abc import abstractmethod
from collections.abc import Callable

from typing_extensions import override

from tailrace.backends.vigil import Vigil
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import StoreOptions
from tailrace.spi import Backend, Watch

LEAST_PATIENCE = 2.0
"""Seconds that everything but an append may take at least, however short its timeout is made."""


def patience(options: StoreOptions) -> float:
    """Return the seconds that everything but an append may take."""
    return max(options.append_timeout, LEAST_PATIENCE)


class Handle(Backend):
    """One handle. Thread-safe. Reopens after a fork, if ``renew_in_child`` was told of it."""

    def __init__(self) -> None:
        # Weak: whoever opened a watch and closed it is done with it, long before this handle is closed.
        self._watches: weakref.WeakSet[Vigil] = weakref.WeakSet()
        self._closed = False

    @override
    def watch(self) -> Watch:
        return self._watched(self._open_watch)

    @override
    def close(self) -> None:
        self._closed = True
        for watch in tuple(self._watches):
            watch.close()
        self._disconnect()

    def after_fork(self) -> None:
        """Leave what is the parent's alone."""
        for watch in tuple(self._watches):
            watch.disown()
        self._watches.clear()
        self._forget()

    def _watched(self, open_watch: Callable[[], Vigil]) -> Vigil:
        """Open a watch that is closed with this handle."""
        self._check_open()
        watch = open_watch()
        self._watches.add(watch)
        return watch

    def _check_open(self) -> None:
        if self._closed:
            raise DurableStreamUnavailableError("the store is closed")

    @abstractmethod
    def _open_watch(self) -> Vigil:
        """Open another watch."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close every connection, and wake whoever waits on one. Never raises; from any thread."""

    def _forget(self) -> None:
        """In a child: let go of the parent's connections, where they do not see to that themselves."""
