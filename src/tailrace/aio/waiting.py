"""All waiting of the asyncio side: for a future with a deadline, and for a worker."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from tailrace import limits
from tailrace.engine import Engine

T = TypeVar("T")


async def run(engine: Engine, work: Callable[[], T]) -> T:
    """Run something that blocks on the store in one of the engine's workers.

    Cancelled, it stops waiting; the work itself goes on unless it has not begun.
    """
    return await asyncio.wrap_future(engine.workers.run(work))


async def settled(future: "asyncio.Future[None]", timeout: float) -> None:
    """Wait until a future is resolved, at most ``timeout`` seconds. Nothing is returned or lost at the deadline.

    A timer resolves the future itself. ``asyncio.wait_for`` would cancel it, and before Python 3.12 could
    swallow a cancellation of the caller that came at the same moment.
    """
    if timeout >= limits.MAX_TIMEOUT:
        # Nobody needs ten thousand timers for next year.
        await future
        return
    timer = asyncio.get_running_loop().call_later(timeout, _resolve, future)
    try:
        await future
    finally:
        timer.cancel()


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
