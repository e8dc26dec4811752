"""All waiting of the asyncio side: for a record with a deadline, for a worker, and for what is opened and closed."""

import asyncio
import functools
import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from tailrace.aio.waker import Waker, waker_of
from tailrace.engine import Engine, Waiter, Workers

T = TypeVar("T")


async def run(engine: Engine, work: Callable[[], T]) -> T:
    """Run something that blocks on the store in one of the engine's workers.

    Cancelled, it stops waiting; the work itself goes on unless it has not begun.
    """
    return await asyncio.wrap_future(engine.workers.run(work))


async def opened(open_: Callable[[], T], close: Callable[[T], object]) -> T:
    """Open something that blocks, in a thread of its own. If the caller is cancelled meanwhile, it is closed again."""
    opening = _alone(open_)
    try:
        return await asyncio.wrap_future(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(functools.partial(_close_unwanted, close))
        raise


async def closed(close: Callable[[], object]) -> None:
    """Close something that blocks, in a thread of its own: not behind calls that wait for what the closing ends.

    Shielded, because what is half closed helps nobody: it is closed even if the caller is cancelled.
    """
    await asyncio.shield(asyncio.wrap_future(_alone(close)))


class Alarm:
    """What one coroutine waits on: a future that a waiter's ``fire`` or the time resolves, whichever comes first.

    Set it before the last look for something to do, and wait only if there was nothing::

        future = alarm.set(timeout)
        try:
            if waiter.generation == generation:
                await future
        finally:
            alarm.clear(future)

    One object for all waits of a subscription, and no coroutine of its own: ten thousand that are woken at once pay
    for each object that is made anew.
    """

    __slots__ = ("_future", "_timer", "_waiter", "_waker")

    def __init__(self, waiter: Waiter) -> None:
        self._waiter = waiter
        self._waker: Waker | None = None
        self._future: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def set(self, timeout: float) -> "asyncio.Future[None]":
        """Return the future of a new wait of at most ``timeout`` seconds, which may be ``inf``."""
        loop = asyncio.get_running_loop()
        if self._waker is None or not self._waker.serves(loop):
            self._waker = waker_of(loop)
        future = self._future = loop.create_future()
        self._waiter.listen(self)
        self._cancel_timer()
        if timeout != math.inf:
            # The timer resolves the future itself. ``asyncio.wait_for`` would cancel it, and before Python 3.12
            # could swallow a cancellation of the caller that came at the same moment.
            self._timer = loop.call_later(timeout, _resolve, future)
        return future

    def __call__(self) -> None:
        """Resolve the future of the wait that is under way, if any. Any thread; never blocks."""
        future, waker = self._future, self._waker
        if future is not None and waker is not None:
            waker.wake(future)

    def clear(self, future: "asyncio.Future[None]") -> None:
        """End the wait for that future; does nothing if another one is waited for by now.

        A cancelled task comes here only when it runs again, and its successor may have begun to wait before that.
        """
        if self._future is future:
            self._waiter.leave(self)
            self._future = None
            self._cancel_timer()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _alone(work: Callable[[], T]) -> "Future[T]":
    workers = Workers(1)
    future = workers.run(work)
    workers.close()
    return future


def _close_unwanted(close: Callable[[T], object], opening: "Future[T]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        close(opening.result())


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
