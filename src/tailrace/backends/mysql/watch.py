"""Hearing of appends: the server tells nobody, so it is asked, often while things move and less while nothing does.

What one look costs, and what it finds: ``looking.py``.
"""

import contextlib
import os
import select
import time
from collections.abc import Collection, Iterator

from typing_extensions import override

from tailrace import native
from tailrace.backends.mysql.dialing import dial
from tailrace.backends.mysql.errors import explain
from tailrace.backends.mysql.line import CutShort
from tailrace.backends.mysql.location import Location
from tailrace.backends.mysql.looking import Looking
from tailrace.backends.mysql.tables import Statements
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Changes, Watch


class MysqlWatch(Watch):
    """One engine's view of what moved: one connection, and a pipe for interrupts.

    Used by one thread, except for ``interrupt`` and ``close``.
    """

    def __init__(self, location: Location, statements: Statements, patience: float) -> None:
        self._name = location.name
        self._state = native.lock()
        self._waiting = self._closed = False
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)
        try:
            self._line = dial(location, time.monotonic() + patience)
        except BaseException:
            self._close_pipe()
            raise
        self._looking = Looking(self._line, statements, location.poll_min, location.poll_max, patience)

    @property
    @override
    def reliable(self) -> bool:
        return not self._closed

    @override
    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        with self._entered():
            self._looking.follow(added, dropped)

    @override
    def wait(self, timeout: float) -> Changes:
        deadline = time.monotonic() + timeout
        with self._entered():
            while True:
                now = time.monotonic()
                if now >= self._looking.due:
                    moved, anything = self._looking.look()
                    if moved or anything:
                        return Changes(moved, anything)
                    now = time.monotonic()
                if self._slept(min(deadline, self._looking.due) - now) or time.monotonic() >= deadline:
                    return Changes()

    @override
    def interrupt(self) -> None:
        with self._state, contextlib.suppress(BlockingIOError):
            if not self._closed:
                os.write(self._wake, b"!")

    @override
    def close(self) -> None:
        with self._state:
            if self._closed:
                return
            self._closed = True
            # Under a waiting thread the descriptors must stay: their numbers could be given to somebody else.
            if self._waiting:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._wake, b"!")
                self._line.hang_up()
            else:
                self._release()

    def disown(self) -> None:
        """In a child: close the descriptors and nothing else; what arrives there is the parent's."""
        self._state = native.lock()
        if self._wake >= 0:
            self._closed = True
            self._line.disown()
            self._close_pipe()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        with self._state:
            if self._closed:
                raise DurableStreamUnavailableError("the watch is closed")
            self._waiting = True
        try:
            yield
        except CutShort as exc:
            raise explain(exc.error, self._name) from exc.error
        finally:
            with self._state:
                self._waiting = False
                if self._closed:
                    self._release()

    def _slept(self, seconds: float) -> bool:
        """Wait so long, or until interrupted; return whether that was so."""
        if seconds <= 0:
            return False
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        # Rounded up: a pause that is cut to nothing would be waited for by going round.
        if not poll.poll(-int(-seconds * 1000 // 1)):
            return False
        os.read(self._woken, 4096)
        return True

    def _release(self) -> None:
        self._line.close()
        self._close_pipe()

    def _close_pipe(self) -> None:
        fds, self._woken, self._wake = (self._woken, self._wake), -1, -1
        for fd in fds:
            if fd >= 0:
                os.close(fd)
