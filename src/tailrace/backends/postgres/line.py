"""One connection of the watch, used without the driver's own waiting: each wait here has a deadline, and ends when the
watch is closed.

The same in threads and among greenlets, whenever they were patched: what waits is ``select.poll`` as it is by then.
"""

import contextlib
import os
import select
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from psycopg import Error, OperationalError, pq
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGconn, PGresult

from tailrace import native

Dial: TypeAlias = Callable[[float], PGconn]
"""Opens a connection until a deadline (``time.monotonic``); raises ours."""

_WRONG = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE, pq.ExecStatus.NONFATAL_ERROR)


class Line:
    """Not thread-safe. Raises ``psycopg.Error`` and ``TimeoutError``.

    Args:
        connection: From now on used by this object alone.
        alarm: A descriptor that is readable when somebody wants something of whoever waits; ``None`` for none.
        given_up: Asked after an alarm: whether to stop waiting.
    """

    def __init__(self, connection: PGconn, alarm: int | None = None, given_up: Callable[[], bool] = bool) -> None:
        self.connection = connection
        self._alarm = alarm
        self._given_up = given_up
        connection.nonblocking = 1

    def like(self, connection: PGconn) -> "Line":
        """Return one for another connection, with the same waiting."""
        return Line(connection, self._alarm, self._given_up)

    def fileno(self) -> int:
        """Return the descriptor that is readable when something has arrived."""
        return self.connection.socket

    def ask(self, statement: str, values: Sequence[bytes] | None, deadline: float) -> PGresult:
        """Perform statements, several only without values; return what the last one said, in binary."""
        self.send(statement, values, deadline)
        results = self.settle(deadline)
        if not results:
            raise OperationalError("the server closed the connection")
        return results[-1]

    def send(self, statement: str, values: Sequence[bytes] | None, deadline: float) -> None:
        """Send statements, for ``answers`` to come."""
        connection = self.connection
        if values is None:
            connection.send_query(statement.encode())
        else:
            connection.send_query_params(statement.encode(), values, result_format=1)
        while connection.flush():
            self._await(select.POLLIN | select.POLLOUT, deadline)
            # The server may be unable to take more before somebody takes what it has said.
            connection.consume_input()

    def settle(self, deadline: float) -> Sequence[PGresult]:
        """Wait for the answers to the statements sent, and return them."""
        results: list[PGresult] = []
        while True:
            if self.connection.is_busy():
                self.await_news(deadline)
            elif (result := self.connection.get_result()) is None:
                return results
            else:
                results.append(_checked(result))

    def hear(self) -> None:
        """Take in what has arrived, after waiting for the descriptor said that something has."""
        self.connection.consume_input()

    def check(self) -> None:
        """Find out whether the other end has hung up, as far as it is known here. Does not wait."""
        poll = native.poll()
        poll.register(self.fileno(), select.POLLIN)
        while poll.poll(0):
            # Raises at the end of the conversation.
            self.hear()

    def await_news(self, deadline: float) -> None:
        """Wait until something has arrived, and take it in."""
        self._await(select.POLLIN, deadline)
        self.hear()

    def answers(self) -> Sequence[PGresult]:
        """Return what has been answered so far to the statements sent. Does not wait."""
        results: list[PGresult] = []
        while not self.connection.is_busy() and (result := self.connection.get_result()) is not None:
            results.append(_checked(result))
        return results

    def notifications(self) -> Sequence[tuple[str, str]]:
        """Return channel and message of each notification that has been taken in."""
        heard = []
        while (told := self.connection.notifies()) is not None:
            heard.append((told.relname.decode(), told.extra.decode(errors="replace")))
        return heard

    def close(self) -> None:
        """Close it. Idempotent, never raises."""
        with contextlib.suppress(Error):
            self.connection.finish()

    def disown(self) -> None:
        """In a child: let go of the descriptor, without a word on the connection, which is the parent's."""
        # The driver knows that it is not the process that opened the connection, and leaves it alone from here.
        with contextlib.suppress(Error, OSError):
            os.close(self.connection.socket)

    def _await(self, events: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(self.fileno(), events)
        if self._alarm is not None:
            poll.register(self._alarm, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            ready = dict(poll.poll(left * 1000))
            if self.fileno() in ready:
                return
            if self._alarm in ready:
                if self._given_up():
                    raise OperationalError("the watch is closed")
                # Left for whoever asks for interrupts; here it would only ring on.
                poll.unregister(self._alarm)


def _checked(result: PGresult) -> PGresult:
    if result.status in _WRONG:
        raise error_from_result(result)
    return result


def connect(conninfo: str, deadline: float) -> PGconn:
    """Open a connection as libpq understands it.

    Raises:
        psycopg.OperationalError: Refused, or not in time.
    """
    # Names are looked up by this call, in C.
    connection = native.call(lambda: pq.PGconn.connect_start(conninfo.encode()))
    while True:
        status = connection.connect_poll() if connection.status != pq.ConnStatus.BAD else pq.PollingStatus.FAILED
        if status == pq.PollingStatus.OK:
            return connection
        left = deadline - time.monotonic()
        if status == pq.PollingStatus.FAILED or left <= 0:
            said = "timed out" if left <= 0 else connection.get_error_message().strip()
            connection.finish()
            raise OperationalError(said)
        # Another one each time there are several addresses.
        poll = select.poll()
        poll.register(connection.socket, select.POLLIN if status == pq.PollingStatus.READING else select.POLLOUT)
        poll.poll(left * 1000)
