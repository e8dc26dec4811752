"""What is at the other end of a connection: a server, or a pooler that lends somebody else's connections.

A pooler that lends by transaction takes LISTEN without a word and delivers nothing, and what was prepared is found by
others. There are many kinds, none of which says so: it is found out.
"""

import secrets
import time

from psycopg import Error, OperationalError
from psycopg.errors import DuplicatePreparedStatement, InvalidSqlStatementName
from psycopg.pq.abc import PGconn

from tailrace.backends.postgres.channels import Channels
from tailrace.backends.postgres.line import Dial, Line
from tailrace.errors import DurableStreamUnavailableError

PID = "SELECT pg_catalog.pg_backend_pid()"

HEARD_WITHIN, HEARD_THROUGH_POOLER_WITHIN = 5.0, 0.5
"""Seconds after which a notification counts as lost. Far more than it takes: who is polled in vain is served later."""


def pooled(connection: PGconn, pid: int) -> bool:
    """Whether a connection leads to a pooler.

    A pooler answers the greeting itself, with a number of its own making where the server gives that of its process.

    Args:
        pid: What ``PID`` says over this connection.
    """
    return connection.backend_pid != pid


def is_lost_preparation(error: BaseException) -> bool:
    """Whether a statement was refused for what a pooler does with prepared ones: it was not run, and may be sent again.

    From then on nothing should be prepared on any connection: a name may as well be found, with another statement.
    """
    return isinstance(error, InvalidSqlStatementName | DuplicatePreparedStatement)


def hears(line: Line, dial: Dial, channels: Channels, deadline: float) -> bool:
    """Whether notifications arrive on a connection. Costs another connection for a moment.

    Raises:
        psycopg.Error: The connection is lost.
        TimeoutError: The server does not answer.
    """
    channel = channels.own(secrets.token_hex(8))
    through_pooler = pooled(line.connection, int.from_bytes(line.ask(PID, (), deadline).get_value(0, 0) or b"", "big"))
    try:
        line.ask(f"LISTEN {channel}", None, deadline)
    except OperationalError:
        raise
    except Error:
        # A replica, or one of the relatives of PostgreSQL that do not have it.
        return False
    if not _notify(channel, dial, line, deadline):
        # There are no more connections to be had. It is believed to be what it looks like.
        return not through_pooler
    patience = HEARD_THROUGH_POOLER_WITHIN if through_pooler else HEARD_WITHIN
    heard = _hear(line, channel, min(deadline, time.monotonic() + patience))
    line.ask(f"UNLISTEN {channel}", None, deadline)
    return heard


def _notify(channel: str, dial: Dial, line: Line, deadline: float) -> bool:
    # Over another connection: the same one may be lent the same server's once more, which tells its own
    # notifications with its answers.
    try:
        other = line.like(dial(deadline))
    except DurableStreamUnavailableError:
        return False
    try:
        other.ask(f"NOTIFY {channel}", None, deadline)
    finally:
        other.close()
    return True


def _hear(line: Line, channel: str, deadline: float) -> bool:
    while True:
        if any(told == channel for told, _ in line.notifications()):
            return True
        try:
            line.await_news(deadline)
        except TimeoutError:
            return False
