"""Asking the server: statements over a few connections, each bounded by a deadline, with no foreign exception let out.

Everything that reading, writing and operations send goes through here, and what went wrong is sorted here: nothing was
done, or nobody knows.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo
from psycopg.pq.abc import PGconn

from tailrace.backends.connections import Connections, Slot
from tailrace.backends.postgres.errors import code_of, ends, explain, may_be_repeated
from tailrace.backends.postgres.line import connect
from tailrace.backends.postgres.location import Location
from tailrace.backends.postgres.probing import is_lost_preparation
from tailrace.backends.postgres.wire import Wire
from tailrace.errors import DurableStreamUnavailableError
from tailrace.forks import renew_in_child

T = TypeVar("T")

KEPT = 4
"""Connections that stay open while nobody uses them."""

# Of a connection of our own, and only there: behind a pooler it is somebody else's a moment later.
# A plan that was made while a table was small reads all of it when it has become large, until statistics come: so no
# plan does.
# The server does not notice that nobody waits for its answer any more. While somebody has a whole table locked (VACUUM
# FULL), each call that was given up would leave a connection behind, and an append that comes about when he lets go.
_SETTINGS = b"""
SELECT CASE WHEN pg_backend_pid() = %(pid)b::int THEN
    set_config('enable_seqscan', 'off', false) || set_config('plan_cache_mode', 'force_generic_plan', false)
    || set_config('jit', 'off', false) || set_config('default_transaction_isolation', 'read committed', false)
    || set_config('lock_timeout', %(patience)b::text, false) END
"""

_log = logging.getLogger("tailrace.store")


class Session:
    """One process's connections to one database. Thread-safe; a child that was forked opens its own.

    Args:
        patience: Seconds that a statement may wait for a lock, unless it says otherwise; 0 for any time.

    Attributes:
        name: Of the server, for messages.
        pooled: Whether a pooler is in between, as far as is known.
    """

    def __init__(self, location: Location, patience: float = 0.0) -> None:
        self.name = location.name
        self.pooled = False
        self._location = location
        # A little less than a call has: the answer that nothing was done is worth more than none.
        self._patience = str(int(patience * 900))
        self._connections: Connections[Wire] = Connections(self._open, location.pool_size, KEPT)
        renew_in_child(self)

    def ask(self, statement: bytes, values: Mapping[str, Any], deadline: float, purpose: str) -> list[Any]:
        """Perform a statement as a transaction of its own; return its rows. Blocks.

        Sent again only where it certainly had no effect: refused for the order of transactions, or by a pooler.

        Args:
            values: Each of a type that has one form only: ``Int8`` and not ``int``.
            deadline: On the monotonic clock.
            purpose: As ``explain`` takes it.

        Raises:
            DurableStreamUnavailableError: It failed; with ``maybe_stored``, if that is not certain.
        """
        return self.again(lambda wire: wire.ask(statement, values, deadline), deadline, purpose)

    def again(self, work: Callable[[Wire], T], deadline: float, purpose: str) -> T:
        """Do something on a connection, from the beginning again where it certainly had no effect. Else as ``ask``."""
        while True:
            try:
                with self.lent(deadline, purpose) as wire:
                    return work(wire)
            except DurableStreamUnavailableError as exc:
                if time.monotonic() >= deadline or not self.came_to_nothing(exc.__cause__):
                    raise

    def came_to_nothing(self, cause: BaseException | None) -> bool:
        """Return whether what failed like this had no effect, and may have one if it is done again."""
        if cause is None:
            return False
        if is_lost_preparation(cause):
            self.pooled = True
            return True
        return may_be_repeated(cause)

    @contextlib.contextmanager
    def lent(self, deadline: float, purpose: str) -> Iterator[Wire]:
        """Lend a connection; an error of the block is mapped, and what is left in a wrong state is closed.

        Raises:
            DurableStreamUnavailableError: Of the block; with ``maybe_stored`` if nobody knows what became of it.
        """
        slot = self._connections.take(deadline)
        wire = wire_of(slot)
        keep = False
        try:
            yield wire
            keep = not wire.broken
        except (psycopg.Error, TimeoutError, OSError) as exc:
            error = explain(exc, self.name, purpose)
            error.maybe_stored = ends(exc)
            keep = not error.maybe_stored and not wire.broken
            if code_of(exc) == "25006":
                # It was a primary once, perhaps: the address may lead to another server by now.
                self._connections.renew()
            raise error from exc
        finally:
            self._connections.give_back(slot, keep=keep)

    def dial(self, deadline: float) -> PGconn:
        """Open a connection that is not lent. Raises ours."""
        try:
            return _dialed(self._location, deadline)
        except (psycopg.Error, OSError) as exc:
            raise explain(exc, self.name) from exc

    def close(self) -> None:
        """Close what is idle, and wake whoever waits for an answer. Never raises."""
        self._connections.close()

    def after_fork(self) -> None:
        """Leave the parent's connections alone."""
        self._connections.forget()

    def _open(self, timeout: float) -> Wire:
        deadline = time.monotonic() + timeout
        wire = Wire(self.dial(deadline))
        try:
            wire.prepares = False
            if wire.info.encoding != "utf-8":
                # Set by an application that made this connection.
                wire.ask(b"SET client_encoding = 'UTF8'", None, deadline)
            values = {"pid": wire.pgconn.backend_pid, "patience": self._patience}
            ((own,),) = wire.ask(_SETTINGS, values, deadline)
        except (psycopg.Error, OSError) as exc:
            wire.close()
            raise explain(exc, self.name) from exc
        except BaseException:
            wire.close()
            raise
        self.pooled = self.pooled or own is None
        wire.prepares = not self.pooled
        return wire


def _dialed(location: Location, deadline: float) -> PGconn:
    more = {"fallback_application_name": "tailrace"}
    if location.dial is not None:
        return location.dial(more, deadline)
    if "application_name" in conninfo.conninfo_to_dict(location.conninfo):
        more = {}
    return connect(conninfo.make_conninfo(location.conninfo, **more, client_encoding="UTF8"), deadline)


def wire_of(slot: Slot[Wire]) -> Wire:
    """Return the connection of a slot that is lent."""
    assert slot.wire is not None
    return slot.wire
