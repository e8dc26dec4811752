"""What the watches of all stores but memory have in common: somebody waits, others interrupt, close, or fork.

A pipe wakes whoever waits. A watch of a store adds what it waits for, and what it then lets go of.
"""

import contextlib
import os
import select
from abc import abstractmethod
from collections.abc import Iterator

from typing_extensions import override

from tailrace import native
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Watch


class Vigil(Watch):
    """One watch. Used by one thread, except for ``interrupt`` and ``close``."""

    def __init__(self) -> None:
        self._state = native.lock()
        self._waiting = self._closed = False
        self._alarm, self._wake = os.pipe()
        os.set_blocking(self._alarm, False)
        os.set_blocking(self._wake, False)

    @override
    def interrupt(self) -> None:
        with self._state:
            if not self._closed:
                self._ring()

    @override
    def close(self) -> None:
        with self._state:
            if self._closed:
                return
            self._closed = True
            # Under a waiting thread the descriptors must stay: their numbers could be given to somebody else.
            if self._waiting:
                self._ring()
                self._cut_short()
            else:
                self._end()

    def disown(self) -> None:
        """In a child: close the descriptors and nothing else; what arrives there is the parent's."""
        # Of the old lock nobody knows who held it at the fork.
        self._state = native.lock()
        if self._alarm >= 0:
            self._closed = True
            self._abandon()
            self._close_pipe()

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        """A call that uses the descriptors. Whoever closes meanwhile leaves them to the end of the block."""
        with self._state:
            if self._closed:
                raise DurableStreamUnavailableError("the watch is closed")
            self._waiting = True
        try:
            yield
        finally:
            with self._state:
                self._waiting = False
                if self._closed:
                    self._end()

    def _sleep(self, seconds: float, *descriptors: int) -> tuple[set[int], bool]:
        """Wait for a descriptor or an interrupt, at most so long; return those with news, and whether it was one."""
        poll = select.poll()
        poll.register(self._alarm, select.POLLIN)
        for descriptor in descriptors:
            poll.register(descriptor, select.POLLIN)
        # Rounded up: a pause that is cut to nothing would be waited for by going round.
        ready = {descriptor for descriptor, _ in poll.poll(-int(-max(0.0, seconds) * 1000 // 1))}
        interrupted = self._alarm in ready
        if interrupted:
            os.read(self._alarm, 4096)
        return ready, interrupted

    @abstractmethod
    def _release(self) -> None:
        """Close what it waits for. Nobody is inside any more."""

    @abstractmethod
    def _abandon(self) -> None:
        """In a child: let go of what it waits for, without a word on it."""

    def _cut_short(self) -> None:
        """End a wait that does not hear the alarm. In any thread, while another one is inside."""

    def _ring(self) -> None:
        # A pipe that is full wakes whoever waits as well.
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake, b"!")

    def _end(self) -> None:
        self._release()
        self._close_pipe()

    def _close_pipe(self) -> None:
        fds, self._alarm, self._wake = (self._alarm, self._wake), -1, -1
        for fd in fds:
            if fd >= 0:
                os.close(fd)
