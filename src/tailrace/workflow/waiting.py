"""Waiting for a stream to move, and looking at it again: many who wait for the same share one look.

Whoever waits stands at the engine like any reader, exactly behind what his last look has shown, so that nothing can
come between the look and the wait.
"""

import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass

from tailrace import aio, native
from tailrace.engine import Engine
from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError
from tailrace.forks import renew_in_child
from tailrace.spi import Boundary
from tailrace.subscription import Subscription
from tailrace.workflow.cancellation import Cancellation
from tailrace.workflow.model import ItemPage, StreamRef
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


class Board:
    """Where those who wait for the same page, since before there was any of it, find it once one of them has looked.

    Attributes:
        wanted: The page.
        turn: Of whoever looks.
        answer: What was found; ``None`` until something is.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.turn = threading.Lock()
        self.answer: Look | None = None


class Looks:
    """Looks at the store, shared by those who wait for the same. Thread-safe.

    Args:
        look: Looks at the store; blocks.
    """

    def __init__(self, look: Callable[[Wanted], Look]) -> None:
        self._look = look
        self.after_fork()
        renew_in_child(self)

    def after_fork(self) -> None:
        """Start afresh: whoever was looking does so in the parent."""
        self._lock = native.lock()
        # A board lives as long as somebody waits there.
        self._boards: weakref.WeakValueDictionary[Wanted, Board] = weakref.WeakValueDictionary()

    def fresh(self, wanted: Wanted) -> Look:
        """Look now."""
        return self._look(wanted)

    def board(self, wanted: Wanted) -> Board:
        """Return where to wait together with others."""
        with self._lock:
            board = self._boards.get(wanted)
            if board is None:
                board = self._boards[wanted] = Board(wanted)
            return board

    def shared(self, board: Board, before: Look) -> Look:
        """Look, or take what somebody else at the board has found.

        What is there is as good as another look: items of a stream never change. If there is nothing yet, a look of
        our own is taken: one that was begun before this call may have missed what it was woken for. So it is if
        whoever looked has failed, or was interrupted.

        Args:
            before: What the caller has seen last.
        """
        if board.turn.acquire(blocking=False):
            try:
                return self._found(board, before)
            finally:
                board.turn.release()
        with board.turn:
            pass
        return self._found(board, before)

    def _found(self, board: Board, before: Look) -> Look:
        # Of this life of the stream: a run may have been deleted, and begun anew.
        if board.answer is not None and board.answer.row.incarnation == before.row.incarnation:
            return board.answer
        look = self._look(board.wanted)
        if look.says_something:
            with self._lock:
                board.answer = look
                # Who comes from now on has a look of his own first, which says more.
                if self._boards.get(board.wanted) is board:
                    del self._boards[board.wanted]
        return look


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
    return max(0.0, deadline - time.monotonic())


def _nothing() -> None:
    return None
