"""A watch that loses what it hears, or dies, as its ``FaultyBackend`` says."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tailrace import spi

if TYPE_CHECKING:
    from tailrace.testing.faults.backend import FaultyBackend


class FaultyWatch(spi.Watch):
    """Wraps a watch. ``FaultyBackend`` makes it."""

    def __init__(self, owner: FaultyBackend, inner: spi.Watch) -> None:
        self._owner = owner
        self._inner = inner

    @property
    def reliable(self) -> bool:
        return self._inner.reliable

    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        self._owner.perform("follow", lambda: self._inner.follow(added, dropped))

    def wait(self, timeout: float) -> spi.Changes:
        changes = self._owner.perform("wait", lambda: self._inner.wait(timeout))
        return changes if self._owner.hints else spi.Changes()

    def interrupt(self) -> None:
        self._inner.interrupt()

    def close(self) -> None:
        self._inner.close()
