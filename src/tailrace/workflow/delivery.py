"""Deliveries up to the head of a stream, noted in the store: at most one write per stream in a while.

A thread that ends when there is nothing to write does it: the first time at once, then with a pause, so that what comes
meanwhile goes together. What waits is known here, so that an append in this process, and whoever looks at the stream
through it, is told the truth.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping

from tailrace import native
from tailrace.errors import DurableStreamUnavailableError
from tailrace.forks import renew_in_child
from tailrace.workflow.model import UNDELIVERED, Mark

EVERY = 0.1
"""Seconds between two writes about one stream."""

_log = logging.getLogger("tailrace.workflow")


class Deliveries:
    """Thread-safe.

    Args:
        write: Notes last items by topic in the store. Blocks.
    """

    def __init__(self, write: Callable[[Mapping[str, Mark]], None]) -> None:
        self._write = write
        self._closed = False
        self.after_fork()
        renew_in_child(self)

    def after_fork(self) -> None:
        """Start afresh: the parent's thread is the parent's."""
        self._lock = native.lock()
        self._waiting: dict[str, Mark] = {}
        self._thread: threading.Thread | None = None

    def of(self, topic: str) -> Mark:
        """Return the item up to which a stream was delivered, where the store may not know."""
        return self._waiting.get(topic, UNDELIVERED)

    def waiting(self) -> Mapping[str, Mark]:
        """Return the same of all streams, by topic."""
        with self._lock:
            return dict(self._waiting)

    def note(self, topic: str, last: Mark) -> None:
        """Note that items up to the head were delivered. Does not block; it is advisory, and never raises."""
        with self._lock:
            # By its instant first: of a stream that has begun anew, an item before the one that is known.
            if self._closed or _order(last) <= _order(self._waiting.get(topic, UNDELIVERED)):
                return
            self._waiting[topic] = last
            if self._thread is not None:
                return
            thread = self._thread = threading.Thread(target=self._run, name="tailrace-deliveries", daemon=True)
        # Not with the lock: among greenlets to start one lets it run, and the first thing that it wants is the lock.
        try:
            thread.start()
        except BaseException:
            # No thread to be had, or an interrupt: the next one who notes something tries again.
            with self._lock:
                if self._thread is thread:
                    self._thread = None
            raise

    def close(self) -> None:
        """Write what waits. Idempotent, never raises."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            waiting = dict(self._waiting)
        if waiting:
            self._flush(waiting)

    def _run(self) -> None:
        me = self._thread
        try:
            while True:
                with self._lock:
                    waiting = dict(self._waiting)
                    if not waiting or self._closed or self._thread is not me:
                        # While nobody can note anything: whoever does so next has to find that there is no thread.
                        self._leave(me)
                        return
                self._flush(waiting)
                time.sleep(EVERY)
        finally:
            # Whatever it has died of, a killed greenlet or memory that ran out, must not be the end of all notes.
            with self._lock:
                self._leave(me)

    def _leave(self, thread: threading.Thread | None) -> None:
        if self._thread is thread:
            self._thread = None

    def _flush(self, delivered: Mapping[str, Mark]) -> None:
        try:
            self._write(delivered)
        except DurableStreamUnavailableError as exc:
            _log.warning("deliveries could not be noted; the next ones are: %s", exc)
        with self._lock:
            for topic, last in delivered.items():
                if self._waiting.get(topic) == last:
                    del self._waiting[topic]


def _order(last: Mark) -> tuple[int, int]:
    return last.emitted_at, last.offset
