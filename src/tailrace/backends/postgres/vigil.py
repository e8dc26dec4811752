"""What both watches have in common: one connection, a pipe for interrupts, and the way in and out of a call.

Used by one thread, except for ``interrupt`` and ``close``.
"""

import contextlib
import os
import select
import time
from collections.abc import Iterator

from psycopg import Error
from typing_extensions import override

from tailrace import native
from tailrace.backends.postgres.line import Dial, Line
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Watch


class Vigil(Watch):
    """One watch: its connection and its descriptors.

    Args:
        dial: Opens its connection.
        name: Of the server, for messages.
        patience: Seconds that an answer may take.
    """

    def __init__(self, dial: Dial, name: str, patience: float) -> None:
        self._name = name
        self._patience = patience
        self._state = native.lock()
        self._waiting = self._closed = False
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)
        try:
            self._line = Line(dial(time.monotonic() + patience), self._woken, lambda: self._closed)
        except BaseException:
            self._close_pipe()
            raise

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
    def _entered(self) -> Iterator[float]:
        """Give the deadline of one question."""
        with self._state:
            if self._closed:
                raise DurableStreamUnavailableError("the watch is closed")
            self._waiting = True
        try:
            yield time.monotonic() + self._patience
        except TimeoutError as exc:
            raise DurableStreamUnavailableError(f"{self._name} did not answer in time") from exc
        except (Error, OSError) as exc:
            if self._closed:
                raise DurableStreamUnavailableError("the watch is closed") from exc
            said = " ".join(str(exc).split())
            raise DurableStreamUnavailableError(f"the watch of {self._name} was lost [{said}]") from exc
        finally:
            with self._state:
                self._waiting = False
                if self._closed:
                    self._release()

    def _sleep(self, seconds: float) -> tuple[bool, bool]:
        """Wait for the connection or an interrupt, at most so long; return whether there is something of each."""
        poll = select.poll()
        poll.register(self._line.fileno(), select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        # Rounded up: a pause that is cut to nothing would be waited for by going round.
        ready = {fd for fd, _ in poll.poll(-int(-seconds * 1000 // 1))}
        interrupted = self._woken in ready
        if interrupted:
            os.read(self._woken, 4096)
        return self._line.fileno() in ready, interrupted

    def _release(self) -> None:
        self._line.close()
        self._close_pipe()

    def _close_pipe(self) -> None:
        fds, self._woken, self._wake = (self._woken, self._wake), -1, -1
        for fd in fds:
            if fd >= 0:
                os.close(fd)
