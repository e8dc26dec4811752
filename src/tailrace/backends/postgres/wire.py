"""One connection: the driver's own, but for how it waits. Each wait has a deadline, and is cooperative among greenlets
whenever they were patched: the driver binds its waiting when it is imported, and does it in C.

Used by one thread at a time.
"""

import contextlib
import os
import select
import time
from collections.abc import Generator, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg import pq, waiting

from tailrace import native
from tailrace.backends import descriptors

T = TypeVar("T")

_EVENTS = {
    waiting.Wait.R: select.POLLIN,
    waiting.Wait.W: select.POLLOUT,
    waiting.Wait.RW: select.POLLIN | select.POLLOUT,
}


class Wire(psycopg.Connection[Any]):
    """An open connection on which each statement is a transaction of its own.

    Attributes:
        deadline: On the monotonic clock; of whatever is done next.
        prepares: Whether statements are prepared: not where a pooler lends somebody else's connections.
    """

    deadline = 0.0
    prepares = True

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        super().__init__(pgconn)
        self.autocommit = True
        self._readable = native.poll()
        self._readable.register(pgconn.socket, select.POLLIN)

    def ask(self, statement: bytes, values: Any, deadline: float) -> list[Any]:  # noqa: ANN401 - the driver's
        """Perform a statement; return its rows. Blocks.

        Raises:
            psycopg.Error: It failed.
            TimeoutError: No answer came. The connection is of no use any more.
        """
        self.deadline = deadline
        cursor = self.cursor(binary=True).execute(statement, values, prepare=self.prepares)
        return cursor.fetchall() if cursor.description is not None else []

    def ask_together(self, statements: Sequence[tuple[bytes, Any]], deadline: float) -> list[Any]:
        """Perform statements, each with its values, in one round trip where possible; return the last one's rows.

        After one that fails nothing more of them is performed.

        Raises:
            As ``ask``; it may have been any of them.
        """
        if len(statements) == 1 or not (self.prepares and psycopg.capabilities.has_pipeline()):
            return [self.ask(statement, values, deadline) for statement, values in statements][-1]
        self.deadline = deadline
        asked: list[psycopg.Cursor[Any]] = []
        failed: Exception | None = None
        try:
            with self.pipeline():
                try:
                    asked += (self.cursor(binary=True).execute(*each, prepare=True) for each in statements)
                except (psycopg.Error, OSError) as exc:
                    # Let out of the block, it would be logged by the driver next to what ending the block says.
                    failed = exc
        except (psycopg.Error, OSError) as exc:
            failed = failed or exc
        if failed is not None:
            raise failed
        last = asked[-1]
        return last.fetchall() if last.description is not None else []

    def wait(self, gen: Generator[Any, Any, T], *_: object, **__: object) -> T:
        """Perform what the driver wants done, until the deadline."""
        fd = self.pgconn.socket
        poll = select.poll()
        try:
            wanted = next(gen)
            poll.register(fd, _EVENTS[wanted])
            while True:
                left = self.deadline - time.monotonic()
                found = poll.poll(left * 1000 + 1) if left > 0 else ()
                if not found:
                    raise TimeoutError("timed out")
                events = found[0][1]
                # An error or a hang-up is told by whoever reads.
                ready = (events & ~select.POLLOUT != 0) * waiting.READY_R | (
                    events & select.POLLOUT != 0
                ) * waiting.READY_W
                before, wanted = wanted, gen.send(ready)
                if wanted != before:
                    poll.modify(fd, _EVENTS[wanted])
        except StopIteration as done:
            result: T = done.value
            return result

    def __del__(self, _: object = None) -> None:
        """Say nothing: whoever drops one was interrupted, and its end closes the socket."""

    @property
    def broken(self) -> bool:
        """Whether nothing more can be asked of it."""
        return self.pgconn.transaction_status != pq.TransactionStatus.IDLE

    def stale(self) -> bool:
        """Whether the server has hung up, or says something that nobody asked for."""
        return self.broken or bool(self._readable.poll(0))

    def close(self) -> None:
        """Close it. Idempotent, never raises."""
        with contextlib.suppress(psycopg.Error):
            super().close()

    def hang_up(self) -> None:
        """End the conversation, from any thread: whoever waits here is told, and closes it. Never raises."""
        with contextlib.suppress(psycopg.Error):
            descriptors.hang_up(self.pgconn.socket)

    def disown(self) -> None:
        """In a child: let go of the descriptor, without a word on the connection, which is the parent's."""
        with contextlib.suppress(OSError, psycopg.Error):
            os.close(self.pgconn.socket)
