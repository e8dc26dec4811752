"""The thread that the driver lives on: native, also where threads are greenlets, with an event loop of its own.

The driver speaks asyncio, and callers are threads or greenlets of any kind. All that is known about the server is kept
on this thread and needs no lock; callers hand it work, and wait.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from tailrace import native
from tailrace.backends.nats.nativeloop import NativeLoop
from tailrace.errors import DurableStreamUnavailableError

T = TypeVar("T")

GRACE = 1.0
"""Seconds past its time after which nobody waits for work any more that ought to have ended by itself."""

_left_behind: list[object] = []
"""Loops of a parent process. Closing one in a child would take the parent's descriptors out of the set that it waits
on, which both have; so would the collector."""


class Loop:
    """Thread-safe. The thread starts with the first work, and a child process starts its own."""

    def __init__(self) -> None:
        self._closed = False
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._lock = native.lock()
        self._ended = native.Latch()
        self._started = False
        self._loop: NativeLoop | None = None
        self._early: list[Callable[[], None]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Callable[[], Coroutine[Any, Any, T]], timeout: float) -> T:
        """Run ``work()`` over there, and return or raise what it does. Blocks.

        Work that takes longer than it may goes on, and so does that of a caller who is interrupted.

        Raises:
            DurableStreamUnavailableError: The store is closed, or the work did not end in time.
        """
        call: _Call[T] = _Call(work)
        with self._lock:
            if self._closed:
                raise DurableStreamUnavailableError("the store is closed")
            self._hand_over(lambda: self._begin(call))
        if not native.call(lambda: call.done.wait(timeout + GRACE)):
            raise DurableStreamUnavailableError("the store did not answer in time", maybe_stored=True)
        return call.result()

    def post(self, work: Callable[[], None]) -> None:
        """Have something done over there, some time soon. Does not wait; does nothing if there is no thread."""
        with self._lock:
            if self._started and not self._closed:
                self._hand_over(work)

    def close(self, farewell: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run ``farewell()``, end all other work, and end the thread. Idempotent, never raises; waits a little."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if not self._started:
                return
            self._hand_over(lambda: self._end(farewell))
        native.call(lambda: self._ended.wait(GRACE))

    def forget(self) -> None:
        """In a child: leave the parent's loop alone, and start another one when there is work."""
        if self._loop is not None:
            _left_behind.append((self._loop, self._tasks))
            self._loop.disown()
        self._begin_anew()

    def _hand_over(self, work: Callable[[], None]) -> None:
        # With the lock held, so that nothing is handed to a loop that is ending.
        if self._loop is not None:
            self._loop.call_soon_threadsafe(work)
            return
        self._early.append(work)
        if not self._started:
            self._started = True
            native.start_thread(self._live, "tailrace-nats")

    def _live(self) -> None:
        # Made in its own thread: among greenlets, its sockets belong to the hub of whoever makes them.
        loop = NativeLoop()
        with self._lock:
            self._loop = loop
            for work in self._early:
                loop.call_soon(work)
            self._early.clear()
        ended = self._ended
        try:
            loop.live()
        finally:
            ended.release()

    def _begin(self, call: "_Call[Any]") -> None:
        task = asyncio.get_running_loop().create_task(call.perform())
        # The loop itself keeps no strong reference to what it runs.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # One that is cancelled before it began does not get as far as to say so itself.
        task.add_done_callback(call.over)

    def _end(self, farewell: Callable[[], Coroutine[Any, Any, None]]) -> None:
        assert self._loop is not None
        self._loop.end(farewell, self._tasks)


class _Call(Generic[T]):
    """Work that somebody waits for."""

    __slots__ = ("_error", "_value", "_work", "done")

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self.done = native.Latch()
        self._work = work
        self._error: BaseException | None = None
        self._value: T

    async def perform(self) -> None:
        try:
            self._value = await self._work()
        except asyncio.CancelledError:
            self._error = DurableStreamUnavailableError("the store was closed", maybe_stored=True)
        except BaseException as exc:  # noqa: BLE001 - it is raised where the result is asked for
            self._error = exc
        finally:
            self.done.release()

    def over(self, task: "asyncio.Task[None]") -> None:
        if task.cancelled():
            self._error = DurableStreamUnavailableError("the store was closed")
            self.done.release()

    def result(self) -> T:
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._value
