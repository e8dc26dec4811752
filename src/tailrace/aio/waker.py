"""From threads into an event loop: wake-ups of one moment cross in a single call.

Waking ten thousand futures one by one costs the pump a system call each; here the first of a batch
schedules the crossing and the others ride along.
"""

import asyncio
import contextlib
import threading
import weakref

_wakers: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Waker]" = weakref.WeakKeyDictionary()


class Waker:
    """Resolves futures of one loop from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # The loop is the key of the table that holds this object: a strong reference would keep both for ever.
        self._loop = weakref.ref(loop)
        self._lock = threading.Lock()
        self._due: list[asyncio.Future[None]] = []

    def serves(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Return whether this is the waker of that loop."""
        return self._loop() is loop

    def wake(self, future: "asyncio.Future[None]") -> None:
        """Resolve a future of this loop, soon. Any thread; never blocks; a closed loop is ignored."""
        with self._lock:
            self._due.append(future)
            if len(self._due) > 1:
                return
        loop = self._loop()
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._cross)

    def _cross(self) -> None:
        with self._lock:
            due, self._due = self._due, []
        for future in due:
            if not future.done():
                future.set_result(None)


def waker_of(loop: asyncio.AbstractEventLoop) -> Waker:
    """Return the one waker of a running loop. Called in that loop."""
    waker = _wakers.get(loop)
    if waker is None:
        # A loop that ended with a wake-up on its way is held by the future that nobody resolves any more.
        for known in _wakers.keyrefs():
            ended = known()
            if ended is not None and ended.is_closed():
                _wakers.pop(ended, None)
        waker = _wakers[loop] = Waker(loop)
    return waker
