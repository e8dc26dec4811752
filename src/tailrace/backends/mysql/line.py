"""One connection to the server: statements in, rows out, each call bounded on this side.

A server that hangs never answers, and its kernel still acknowledges what is sent: only a timeout of our own socket ends
such a call. A connection whose call was cut is never used again, because the answer may still come.
"""

import contextlib
import ctypes
import select
import time
from collections.abc import Sequence
from typing import Any, TypeAlias

from typing_extensions import override

from tailrace import native
from tailrace.backends import descriptors
from tailrace.backends.connections import Wire
from tailrace.backends.mysql.errors import answered

Rows: TypeAlias = Sequence[tuple[Any, ...]]

IMPATIENCE = 1
"""Seconds that a lock is waited for where it should not be waited for: MySQL has no less, and MariaDB, told 0, fails
where it should skip what is locked."""

OVERHEAD = 1024
"""Bytes of a packet that no statement may take."""

SESSION = (
    b"""SET SESSION autocommit = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00',
sql_safe_updates = 0, sql_auto_is_null = 0, sql_select_limit = DEFAULT, completion_type = 0,
innodb_lock_wait_timeout = %d"""
    % IMPATIENCE
)

ISOLATION = b"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"


class CutShort(Exception):  # noqa: N818 - no error of ours: it says how far a call came
    """A call that ended early.

    Attributes:
        answers: How many statements had been answered.
        sent: How many had been sent, or may have been.
        error: The driver's.
        server_said: Whether the server refused the statement after those; nothing after it was run then.
    """

    def __init__(self, answers: int, sent: int, error: BaseException) -> None:
        super().__init__(str(error))
        self.answers = answers
        self.sent = sent
        self.error = error
        self.server_said = answered(error)

    @property
    def timed_out(self) -> bool:
        """Whether the server was silent for too long; another connection would not change that."""
        return isinstance(self.error, TimeoutError) or "timed out" in str(self.error)


class Line(Wire):
    """One connection. Used by one thread at a time, but for ``hang_up``.

    Args:
        connection: Of either driver.
        cuttable: Whether its socket's timeouts can be set for each call.
        errors: What that driver raises.

    Attributes:
        packet: The server's ``max_allowed_packet``.
        version: As the server tells it.
        clean: Whether nothing is left to be read, and no transaction is open.
    """

    def __init__(self, connection: Any, *, cuttable: bool, errors: tuple[type[Exception], ...]) -> None:  # noqa: ANN401
        self._connection = connection
        self._cursor = connection.cursor()
        self._cuttable = cuttable
        self._errors: tuple[type[Exception], ...] = (*errors, OSError)
        self.clean = True
        self.packet = 2**20
        self.version = ""

    def greet(self, deadline: float) -> None:
        """Set the session up: nothing that the server is set to by default may change what we do."""
        self.ask([SESSION, ISOLATION], deadline)
        ((self.packet, version),) = self.ask([b"SELECT @@max_allowed_packet, VERSION()"], deadline)[0]
        self.version = version if isinstance(version, str) else bytes(version).decode()

    @property
    def mariadb(self) -> bool:
        """Whether it is MariaDB; otherwise MySQL."""
        return "mariadb" in self.version.lower()

    def ask(self, statements: Sequence[bytes], deadline: float) -> list[Rows]:
        """Run statements one after the other, in as few round trips as their size allows; return the rows of each.

        Raises:
            CutShort: It did not come to its end.
        """
        answers: list[Rows] = []
        sent = 0
        self.clean = False
        try:
            for together in packets(statements, self.packet - OVERHEAD):
                self._set_timeout(deadline)
                sent += len(together)
                self._ask(b";".join(together), answers)
        except self._errors as exc:
            self.clean = answered(exc)
            raise CutShort(len(answers), sent, exc) from exc
        self.clean = True
        return answers

    def _ask(self, statement: bytes, answers: list[Rows]) -> None:
        cursor = self._cursor
        cursor.execute(statement)
        answers.append(cursor.fetchall() if cursor.description else ())
        while cursor.nextset():
            answers.append(cursor.fetchall() if cursor.description else ())

    def _set_timeout(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out before it was sent")
        if self._cuttable:
            self._connection._read_timeout = self._connection._write_timeout = left

    @override
    def stale(self) -> bool:
        try:
            poll = native.poll()
            poll.register(self._fileno(), select.POLLIN)
            return bool(poll.poll(0))
        except (OSError, ValueError):
            return True

    @override
    def close(self) -> None:
        with contextlib.suppress(Exception):
            if self._cuttable:
                # Its own way to close says goodbye first, for which a server that hangs would have to listen.
                self._connection._force_close()
            else:
                self._connection.close()

    @override
    def hang_up(self) -> None:
        with contextlib.suppress(Exception):
            descriptors.hang_up(self._fileno())

    @override
    def disown(self) -> None:
        if self._cuttable:
            # Not closed by the driver: a thread of the parent that was reading has the reader's lock, in here for ever.
            with contextlib.suppress(OSError, AttributeError):
                descriptors.disown(self._connection._sock)
        # Never collected: that reader would be closed then; and the other driver says goodbye, in the parent's name.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))

    def _fileno(self) -> int:
        # What a driver that is closed has instead of a socket raises something.
        return int(self._connection._sock.fileno() if self._cuttable else self._connection.fileno())


def packets(statements: Sequence[bytes], room: int) -> Sequence[Sequence[bytes]]:
    """Cut statements into groups that fit into a packet; one that does not fit alone stands alone."""
    groups: list[list[bytes]] = []
    left = -1
    for statement in statements:
        if len(statement) + 1 > left:
            groups.append([])
            left = room
        groups[-1].append(statement)
        left -= len(statement) + 1
    return groups
