"""The store's watch as the pump sees it: opened when it is needed, and again after it was lost.

Readers do not notice a lost watch: topics are read by the fallback until a new one stands.
"""

import logging
import time

from tailrace.engine.backoff import Outage
from tailrace.engine.foreign import foreign_errors
from tailrace.engine.hub import Plan
from tailrace.errors import DurableStreamUnavailableError
from tailrace.instrument import HintsInterrupted, HintsRestored, Hooks
from tailrace.spi import Backend, Changes, Watch

_log = logging.getLogger("tailrace.pump")

NONE = Changes()


class Hints:
    """Used by the pump's thread, but for ``arrive`` and ``interrupt``.

    Args:
        hooks: Called with hints that are interrupted and restored.
    """

    def __init__(self, backend: Backend, hooks: Hooks) -> None:
        self._backend = backend
        self._hooks = hooks
        self._watch: Watch | None = None
        self._outage = Outage(float("inf"))

    @property
    def arrive(self) -> bool:
        """Whether hints are known to arrive right now."""
        watch = self._watch
        return watch is not None and watch.reliable

    @property
    def retry_at(self) -> float | None:
        """When a watch is opened again; ``None`` while there is one."""
        return self._outage.retry_at if self._watch is None else None

    def open(self) -> bool:
        """Open a watch if there is none and it is time; return whether there is a new one, which follows nothing."""
        if self._watch is not None or time.monotonic() < self._outage.retry_at:
            return False
        try:
            with foreign_errors():
                self._watch = self._backend.watch()
        except DurableStreamUnavailableError as exc:
            self._lost(exc)
            return False
        return True

    def follow(self, plan: Plan) -> bool:
        """Change what is followed; return whether the watch was lost over it."""
        watch = self._watch
        if watch is None or not (plan.added or plan.dropped):
            return False
        try:
            with foreign_errors():
                watch.follow(plan.added, plan.dropped)
        except DurableStreamUnavailableError as exc:
            self._lost(exc)
            return True
        self._stands()
        return False

    def wait(self, seconds: float) -> Changes | None:
        """Wait for hints, at most so long; return what may have moved, or ``None`` if the watch was lost over it."""
        watch = self._watch
        if watch is None:
            # There is nothing to interrupt; the pause is short, since a new watch is due.
            time.sleep(min(seconds, 0.05))
            return NONE
        try:
            with foreign_errors():
                changes = watch.wait(seconds)
        except DurableStreamUnavailableError as exc:
            self._lost(exc)
            return None
        self._stands()
        return changes

    def interrupt(self) -> None:
        """Make a ``wait`` that runs now, or the next one, return at once. From any thread."""
        watch = self._watch
        if watch is not None:
            watch.interrupt()

    def close(self) -> None:
        """Release the watch. Idempotent."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    def _stands(self) -> None:
        # Not as soon as it is open: one that can be opened and does not let anything be followed (no right to
        # subscribe) would be tried again as fast as it can, and everything be read each time.
        if self._outage.since is not None:
            self._outage.over()
            self._hooks.emit(HintsRestored())

    def _lost(self, error: DurableStreamUnavailableError) -> None:
        if self._outage.since is None:
            _log.warning("the store's change hints are interrupted: %s", error)
            self._hooks.emit(HintsInterrupted(str(error)))
        self.close()
        self._outage.failed(time.monotonic())
