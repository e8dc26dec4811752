"""Signs of life while a task is silent: a thread for each stream that a task has open.

Each of them waits for its own store, so that one that is away does not let the leases of others lapse. A prefork
worker does one task at a time; greenlets, and the threads of a pool, have one more beside each of them.
"""

import logging
import os
import threading
from collections.abc import Callable

from tailrace.errors import DurableStreamError
from tailrace.workflow import RunNotFoundError, StreamClosedError, StreamErroredError, StreamNotFoundError

_log = logging.getLogger("tailrace.celery")

SOON = 1.0
"""Seconds until the next sign of life after one that did not arrive."""


class Renewal:
    """Calls ``renew`` again and again, until ``stop`` or until the stream has ended.

    Args:
        renew: One sign of life. Blocks; bounded in time by the client that it is of.
        every: Seconds between two of them.
    """

    def __init__(self, renew: Callable[[], object], every: float) -> None:
        self._renew = renew
        self._every = every
        self._process = os.getpid()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tailrace-lease", daemon=True)

    def start(self) -> None:
        """Begin, with a pause first. Once."""
        self._thread.start()

    def stop(self) -> None:
        """End it; wait for the call that is under way, which could otherwise shorten a longer lease. Idempotent."""
        if os.getpid() != self._process:
            # A child that the task has forked has no such thread, and the event's lock may have been held.
            return
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        pause = self._every
        while not self._stopped.wait(pause):
            pause = self._every
            try:
                self._renew()
            except (RunNotFoundError, StreamNotFoundError):
                # Nothing was appended yet.
                continue
            except (StreamClosedError, StreamErroredError) as exc:
                _log.warning("the stream of a task has ended while it still runs: %s", exc)
                return
            except DurableStreamError as exc:
                pause = min(self._every, SOON)
                _log.warning("the lease of a task's stream was not renewed, tried again in %g s: %s", pause, exc)
