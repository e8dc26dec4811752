"""Telling others that topics changed: after the commit, over a connection of its own, without waiting for the answer.

Waiting for it would cost a lone appender a third of its speed (measured), and telling in the transaction that appends
would take a lock of the whole database until the disk has confirmed the commit. In a burst a thread does it, once in a
while for all that came meanwhile. Hints only: what can not be told is found by those who look from time to time.
"""

import logging
import threading
import time
from collections.abc import Collection

from psycopg import Error

from tailrace import native
from tailrace.backends.postgres.channels import Channels
from tailrace.backends.postgres.line import Dial, Line
from tailrace.errors import DurableStreamUnavailableError

PATIENCE = 1.0
"""Seconds that telling may hold up whoever has appended, where the server takes nothing more or has to be reached."""

PAUSE = 1.0
"""Seconds without a try after one that failed."""

BETWEEN = 0.002
"""Seconds between two statements. What comes earlier waits for that long, and goes together."""

CALM = 50
"""So many of these without anything to tell end a burst, and the thread."""

_log = logging.getLogger("tailrace.store")


class Teller:
    """Thread-safe.

    Args:
        dial: Opens its connection, when there is something to tell.
    """

    def __init__(self, dial: Dial, channels: Channels) -> None:
        self._dial = dial
        self._channels = channels
        self._state = native.lock()
        self._pending: set[str] = set()
        self._busy = self._closed = False
        self._line: Line | None = None
        self._asked = False
        self._silent_until = self._again_at = 0.0
        self._thread: threading.Thread | None = None

    def tell(self, topics: Collection[str]) -> None:
        """Say that topics changed, after that was committed. Never raises for a server that is away.

        Returns when it has been sent, or at once where another thread is at it, which takes these along. Blocks for
        long only if the server hangs, and then for no longer than ``PATIENCE``.
        """
        with self._state:
            if self._closed:
                return
            self._pending.update(topics)
            if self._busy:
                # That one looks again, in the same hold of the lock in which it leaves.
                return
            self._busy = True
            burst = time.monotonic() < self._again_at
        try:
            if burst and self._start():
                return
            while some := self._next():
                self._say(some)
        except BaseException:
            # Interrupted. What it has taken is lost, as hints may be; what came meanwhile goes with the next one.
            # Unless it was while the thread was started, which then is at it.
            if self._thread is None or not self._thread.is_alive():
                self._leave()
            raise

    def close(self) -> None:
        """Close the connection. Idempotent, never raises."""
        with self._state:
            self._closed = True
            if not self._busy:
                self._drop()
            thread = self._thread
        if thread is not None:
            thread.join(PATIENCE)

    def disown(self) -> None:
        """In a child: let go of the parent's connection, and open another one when there is something to tell."""
        self._state = native.lock()
        line, self._line = self._line, None
        self._busy = self._asked = False
        self._pending = set()
        self._thread = None
        if line is not None:
            line.disown()

    def _start(self) -> bool:
        thread = threading.Thread(target=self._run, name="tailrace-teller", daemon=True)
        self._thread = thread
        try:
            thread.start()
        except RuntimeError:
            # No more threads in this process.
            self._thread = None
            return False
        return True

    def _run(self) -> None:
        me = self._thread
        try:
            calm = 0
            while calm < CALM and not self._closed:
                time.sleep(BETWEEN)
                if self._thread is not me:
                    # A greenlet that was carried into a child.
                    return
                some = self._next(stay=True)
                self._say(some)
                calm = 0 if some else calm + 1
            while some := self._next():
                self._say(some)
        except BaseException:
            self._leave()
            raise

    def _next(self, *, stay: bool = False) -> set[str]:
        with self._state:
            some, self._pending = self._pending, set()
            if not self._closed and (some or stay):
                return some
            # In the same hold of the lock that found nothing: whoever comes later sees that nobody is at it.
            self._busy = False
            if self._closed:
                self._drop()
            return set()

    def _leave(self) -> None:
        with self._state:
            self._busy = False
            # Half a message may have been sent.
            self._drop()

    def _say(self, topics: Collection[str]) -> None:
        now = time.monotonic()
        if not topics or now < self._silent_until:
            return
        statement = self._channels.statement(topics)
        # What was open may have ended long ago. To say something twice does no harm.
        tries = 1 if self._line is None else 2
        while tries:
            tries -= 1
            try:
                self._send(statement, now + PATIENCE)
                self._again_at = now + BETWEEN
                return
            except (Error, OSError, DurableStreamUnavailableError) as exc:
                self._drop()
                failed = " ".join(str(exc).split())
        self._silent_until = time.monotonic() + PAUSE
        _log.warning("what was appended is stored, and others could not be told: %s", failed)

    def _send(self, statement: str, deadline: float) -> None:
        if self._line is None:
            self._line, self._asked = Line(self._dial(deadline)), False
        if self._asked:
            # Of the last time; mostly it has arrived long since.
            self._line.settle(deadline)
            # To one that has hung up one can speak once more, and is not heard.
            self._line.check()
        self._line.send(statement, None, deadline)
        self._asked = True

    def _drop(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.close()
