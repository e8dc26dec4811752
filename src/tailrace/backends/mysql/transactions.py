"""Transactions that change something: repeated where it is certain that nothing was stored, and nowhere else."""

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from tailrace.backends.mysql.calls import Calls
from tailrace.backends.mysql.errors import DEADLOCK, DUPLICATE, code_of
from tailrace.backends.mysql.line import IMPATIENCE, CutShort, Line, Rows
from tailrace.backends.mysql.writing import Ask

T = TypeVar("T")

Work: TypeAlias = Callable[[Ask], tuple[Sequence[bytes], T]]
"""Asks, and returns what is to be sent at last, together with the commit; with nothing to send, all is rolled back."""

_AGAIN = frozenset({DEADLOCK, DUPLICATE})


class Transactions:
    """Thread-safe."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def run(self, work: Work[T], deadline: float, *, wait: bool = True) -> T:
        """Run one transaction; return what ``work`` made of it.

        Args:
            work: Called again where a transaction came to nothing.
            deadline: On the monotonic clock.
            wait: Whether locks of others are waited for.

        Raises:
            DurableStreamUnavailableError: It failed; ``maybe_stored`` says whether it may have been committed all the
                same, the cause what the driver raised.
        """

        def attempt(line: Line) -> T:
            return self._on(line, work, deadline, wait)

        # What comes out of an attempt as cut short came to nothing.
        return self._calls.again(attempt, deadline)

    def _on(self, line: Line, work: Work[T], deadline: float, wait: bool) -> T:
        while True:
            transaction = _Transaction(line, deadline, wait=wait)
            try:
                statements, result = work(transaction.ask)
                if statements:
                    transaction.commit(statements)
                else:
                    transaction.roll_back()
                return result
            except CutShort as exc:
                if transaction.may_be_committed(exc):
                    error = self._calls.explained(exc)
                    error.maybe_stored = True
                    raise error from exc.error
                if not exc.server_said:
                    raise
                transaction.roll_back()
                if code_of(exc.error) not in _AGAIN or time.monotonic() >= deadline:
                    raise


class _Transaction:
    """One attempt on one connection. It begins with the first statement, in the same round trip."""

    def __init__(self, line: Line, deadline: float, *, wait: bool) -> None:
        self._line = line
        self._deadline = deadline
        self._begin: list[bytes] = [b"BEGIN"]
        self._end: list[bytes] = []
        self._before_commit: int | None = None
        if wait:
            # A little less than we wait ourselves, so that the server says why. It takes whole seconds.
            seconds = max(1, int(deadline - time.monotonic()))
            self._begin = [b"SET SESSION innodb_lock_wait_timeout = %d" % seconds, b"BEGIN"]
            self._end = [b"SET SESSION innodb_lock_wait_timeout = %d" % IMPATIENCE]

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
        self._before_commit = len(before)
        self._line.ask([*before, b"COMMIT"], self._deadline)

    def roll_back(self) -> None:
        """End it without effect."""
        self._before_commit = None
        self._line.ask([b"ROLLBACK", *self._end], self._deadline)

    def may_be_committed(self, exc: CutShort) -> bool:
        """Whether it has an effect, perhaps, although it was cut short."""
        if self._before_commit is None:
            return False
        if exc.server_said:
            # Whatever the server refuses before the commit keeps it from coming to that. A commit that it refuses for
            # a conflict (a cluster does) has no effect; of others that is not certain.
            return exc.answers >= self._before_commit and code_of(exc.error) != DEADLOCK
        return exc.sent > self._before_commit
