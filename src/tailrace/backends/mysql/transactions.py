"""Transactions that change something: repeated where it is certain that nothing was stored, and nowhere else."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from tailrace.backends.mysql.connections import Connections
from tailrace.backends.mysql.errors import DEADLOCK, DUPLICATE, code_of
from tailrace.backends.mysql.line import CutShort, Line, Rows
from tailrace.backends.mysql.writing import Ask

T = TypeVar("T")

_AGAIN = frozenset({DEADLOCK, DUPLICATE})


class LostInTimeError(Exception):
    """The connection was lost, and nothing can have been stored."""


class Transactions:
    """Thread-safe."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def run(self, work: Callable[[Ask], tuple[Sequence[bytes], T]], deadline: float, *, wait: bool = True) -> T:
        """Run one transaction; return what ``work`` made of it.

        Args:
            work: Asks, and returns what is to be sent at last, together with the commit; with nothing to send, all is
                rolled back. Called again where a transaction came to nothing.
            deadline: On the monotonic clock.
            wait: Whether locks of others are waited for.

        Raises:
            DurableStreamUnavailableError: It failed; ``maybe_stored`` says whether it may have been committed all the
                same, the cause what the driver raised.
        """

        def attempt(line: Line) -> T:
            return self._on(line, work, deadline, wait)

        try:
            return self._connections.use(attempt, deadline)
        except LostInTimeError as lost:
            cause = lost.__cause__
            assert isinstance(cause, CutShort)
            if isinstance(cause.error, TimeoutError) or time.monotonic() >= deadline:
                raise self._connections.explained(cause) from cause.error
        # The server was restarted, or closed what was idle. The others of the pool are no better.
        self._connections.renew()
        try:
            return self._connections.use(attempt, deadline)
        except LostInTimeError as lost:
            cause = lost.__cause__
            assert isinstance(cause, CutShort)
            raise self._connections.explained(cause) from cause.error

    def _on(self, line: Line, work: Callable[[Ask], tuple[Sequence[bytes], T]], deadline: float, wait: bool) -> T:
        try:
            while True:
                transaction = _Transaction(line, deadline, wait=wait)
                try:
                    statements, result = work(transaction.ask)
                except CutShort as exc:
                    self._roll_back_or_raise(transaction, exc, deadline)
                    continue
                if not statements:
                    transaction.roll_back()
                    return result
                try:
                    transaction.commit(statements)
                except CutShort as exc:
                    if _may_be_committed(exc, transaction.before_commit):
                        error = self._connections.explained(exc)
                        error.maybe_stored = True
                        raise error from exc.error
                    self._roll_back_or_raise(transaction, exc, deadline)
                    continue
                return result
        except CutShort as exc:
            raise LostInTimeError from exc

    def _roll_back_or_raise(self, transaction: "_Transaction", exc: CutShort, deadline: float) -> None:
        if not exc.server_said:
            raise exc
        transaction.roll_back()
        if code_of(exc.error) not in _AGAIN or time.monotonic() >= deadline:
            raise self._connections.explained(exc) from exc.error


class _Transaction:
    """One attempt on one connection. It begins with the first statement, in the same round trip."""

    def __init__(self, line: Line, deadline: float, *, wait: bool) -> None:
        self._line = line
        self._deadline = deadline
        self._begin: list[bytes] = [b"BEGIN"]
        self._end: list[bytes] = []
        if wait:
            # A little less than we wait ourselves, so that the server says why. It takes whole seconds.
            seconds = max(1, int(deadline - time.monotonic()))
            self._begin = [b"SET SESSION innodb_lock_wait_timeout = %d" % seconds, b"BEGIN"]
            self._end = [b"SET SESSION innodb_lock_wait_timeout = %d" % line.impatience]
        self.before_commit = 0

    def ask(self, statements: Sequence[bytes]) -> Sequence[Rows]:
        """Run statements inside of it."""
        begin, self._begin = self._begin, []
        answers = self._line.ask([*begin, *statements], self._deadline)
        # There is something to be rolled back from now on.
        self._line.clean = False
        return answers[len(begin) :]

    def commit(self, statements: Sequence[bytes]) -> None:
        """End it."""
        before = [*self._begin, *statements, *self._end]
        self.before_commit = len(before)
        self._line.ask([*before, b"COMMIT"], self._deadline)

    def roll_back(self) -> None:
        """End it without effect."""
        self._line.ask([b"ROLLBACK", *self._end], self._deadline)


def _may_be_committed(exc: CutShort, before_commit: int) -> bool:
    if exc.server_said:
        # Whatever the server refuses before it comes to the commit, it does not come to it. A commit that it refuses
        # for a conflict (a cluster does) has no effect; of others that is not certain.
        return exc.answers >= before_commit and code_of(exc.error) != DEADLOCK
    return exc.sent > before_commit
