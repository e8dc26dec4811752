"""Waiting for a stream to move, and looking at it again: many who wait for the same share one look.

Whoever waits stands at the engine like any reader, exactly behind what his last look has shown, so that nothing can
come between the look and the wait.
"""

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from tailrace import aio, native
from tailrace.arguments import FOREVER
from tailrace.engine import Engine
from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError
from tailrace.spi import Boundary
from tailrace.subscription import Subscription
from tailrace.workflow.model import ItemPage, StreamRef
from tailrace.workflow.service import Cancellation
from tailrace.workflow.store.rows import StreamRow


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which page somebody wants."""

    stream: StreamRef
    from_offset: int
    max_items: int


@dataclass(frozen=True, slots=True)
class Look:
    """A page, and the row that it was read by."""

    page: ItemPage
    row: StreamRow

    @property
    def says_something(self) -> bool:
        """Whether it is an answer, and nobody has to wait for one."""
        return bool(self.page.documents) or self.page.terminal

    @property
    def tail(self) -> Boundary:
        """The place behind everything that it has seen."""
        return self.row.bounds.tail


class Looks:
    """Looks that are under way. Thread-safe.

    Args:
        look: Looks at the store; blocks.
    """

    def __init__(self, look: Callable[[Wanted], Look]) -> None:
        self._look = look
        self._lock = native.lock()
        self._under_way: dict[Wanted, Future[Look]] = {}

    def fresh(self, wanted: Wanted) -> Look:
        """Look now."""
        return self._look(wanted)

    def shared(self, wanted: Wanted) -> Look:
        """Look, together with others who were woken as well.

        A look that was begun before this call may have missed what this one was woken for. If it has something to
        say it is as good as another one; if not, one of our own is taken.
        """
        with self._lock:
            future = self._under_way.get(wanted)
            mine = future is None
            if future is None:
                future = self._under_way[wanted] = Future()
        if not mine:
            look = future.result()
            return look if look.says_something else self._look(wanted)
        try:
            look = self._look(wanted)
        except BaseException as exc:
            self._done(wanted)
            future.set_exception(exc)
            raise
        self._done(wanted)
        future.set_result(look)
        return look

    def _done(self, wanted: Wanted) -> None:
        with self._lock:
            self._under_way.pop(wanted, None)


class Waits:
    """Waits for a stream to go on behind a place. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def until_moved(self, topic: str, place: Boundary, deadline: float, cancellation: Cancellation | None) -> None:
        """Block until something follows the place, the stream ends or is gone, it is cancelled, or the time is over."""
        subscription = Subscription(self._engine.open(topic, place))
        forget = cancellation.watch(subscription.close) if cancellation is not None else _nothing
        try:
            with subscription:
                subscription.receive(_left(deadline))
        except CursorUnavailableError:
            # Expired, or deleted: the next look tells.
            pass
        except DurableStreamUnavailableError:
            # Closed before it was entered.
            if cancellation is None or not cancellation.cancelled:
                raise
        finally:
            forget()

    async def until_moved_async(self, topic: str, place: Boundary, deadline: float) -> None:
        """Like ``until_moved``, awaited. Holds no thread."""
        try:
            async with aio.Subscription(self._engine.open(topic, place)) as subscription:
                await subscription.receive(_left(deadline))
        except CursorUnavailableError:
            pass


def _left(deadline: float) -> float:
    return FOREVER if deadline == math.inf else max(0.0, deadline - time.monotonic())


def _nothing() -> None:
    return None
