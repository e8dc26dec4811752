"""The open connections of one process: lent to one caller at a time, kept for the next.

SQLAlchemy's pool does that. Among greenlets a socket belongs to the hub of the thread that made it, so there is a pool
for each hub. A connection is not asked whether it still is one before it is lent: what is sent first can be sent again.
"""

import contextlib
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import QueuePool

from tailrace import native
from tailrace.backends.mysql.dialing import dial
from tailrace.backends.mysql.errors import explain
from tailrace.backends.mysql.line import CutShort, Line
from tailrace.backends.mysql.location import Location
from tailrace.errors import DurableStreamUnavailableError

T = TypeVar("T")

WAIT = 5.0
"""Seconds that a caller waits for a connection while all are lent."""


class Connections:
    """Thread-safe.

    Args:
        patience: Seconds that opening a connection may take.
    """

    def __init__(self, location: Location, patience: float) -> None:
        self._location = location
        self._patience = patience
        self._closed = False
        self._lent: weakref.WeakSet[Line] = weakref.WeakSet()
        self._inherited: list[object] = []
        self._start()

    def _start(self) -> None:
        self._pools: weakref.WeakKeyDictionary[object, QueuePool] = weakref.WeakKeyDictionary()
        self._pool: QueuePool | None = None

    @property
    def name(self) -> str:
        """Of the store, for messages."""
        return self._location.name

    def use(self, work: Callable[[Line], T], deadline: float) -> T:
        """Lend a connection to ``work``. After any failure it is closed: whatever state it was in ends with it.

        Raises:
            CutShort: From ``work``.
            DurableStreamUnavailableError: There is no connection; nothing was sent.
        """
        with self._lend() as line:
            return work(line)

    def ask_again(self, work: Callable[[Line], T], deadline: float) -> T:
        """Like ``use``, with another connection if the first one turns out to be gone. For work that may be repeated.

        Raises:
            DurableStreamUnavailableError: Any failure.
        """
        try:
            try:
                return self.use(work, deadline)
            except CutShort as exc:
                if exc.server_said or isinstance(exc.error, TimeoutError) or time.monotonic() >= deadline:
                    raise
            # The server was restarted, or closed what was idle. The others of the pool are no better.
            self.renew()
            return self.use(work, deadline)
        except CutShort as exc:
            raise self.explained(exc) from exc.error

    def explained(self, cut: CutShort) -> DurableStreamUnavailableError:
        """Return our error for one of a driver's."""
        if self._closed:
            return DurableStreamUnavailableError("the store is closed")
        return explain(cut.error, self.name)

    def renew(self) -> None:
        """Close what is idle. From any thread of this hub."""
        pool = self._mine()
        pool.dispose()
        self._replace(pool.recreate())

    def close(self) -> None:
        """Close what is idle, and wake whoever waits for an answer. Never raises; from any thread."""
        self._closed = True
        for line in tuple(self._lent):
            line.hang_up()
        for pool in self._all():
            with contextlib.suppress(Exception):
                pool.dispose()

    def forget(self) -> None:
        """In a child: let go of what is the parent's without a word on it, and start afresh."""
        # Never collected: one driver would say goodbye in the parent's name.
        self._inherited += [self._pools, self._pool, tuple(self._lent), *map(_idle, self._all())]
        self._lent = weakref.WeakSet()
        self._start()

    @contextlib.contextmanager
    def _lend(self) -> Iterator[Line]:
        self.check_open()
        try:
            lent = self._mine().connect()
        except PoolTimeoutError as exc:
            raise DurableStreamUnavailableError(f"all connections to {self.name} are in use, for too long") from exc
        line: Any = lent.dbapi_connection
        self._lent.add(line)
        try:
            # Looked at once more: who closed in the meantime has not seen this one.
            self.check_open()
            yield line
        except BaseException:
            self._lent.discard(line)
            lent.invalidate()
            raise
        self._lent.discard(line)
        if line.clean and not self._closed:
            lent.close()
        else:
            lent.invalidate()

    def _all(self) -> tuple[QueuePool, ...]:
        return tuple(pool for pool in (self._pool, *self._pools.values()) if pool is not None)

    def _mine(self) -> QueuePool:
        home = native.home()
        pool = self._pool if home is None else self._pools.get(home)
        if pool is None:
            pool = QueuePool(
                self._dial,
                pool_size=self._location.pool_size,
                max_overflow=2 * self._location.pool_size,
                timeout=min(WAIT, self._patience),
                use_lifo=True,
                # What it would do is a rollback; a connection with something to roll back is not kept.
                reset_on_return=None,
            )
            self._replace(pool)
        return pool

    def _replace(self, pool: QueuePool) -> None:
        home = native.home()
        if home is None:
            self._pool = pool
        else:
            self._pools[home] = pool

    def _dial(self) -> Any:  # noqa: ANN401 - the pool knows connections of drivers, and needs no more than close
        return dial(self._location, time.monotonic() + self._patience)

    def check_open(self) -> None:
        """Raise if the store is closed."""
        if self._closed:
            raise DurableStreamUnavailableError("the store is closed")


def _idle(pool: QueuePool) -> object:
    return pool._pool
