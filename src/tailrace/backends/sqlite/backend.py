"""The SQLite store: what the engine calls, each call one transaction.

Reading: ``reading.py``. Changing: ``writing.py``. Who may write when, and who is told: ``session.py``, ``gate.py``,
``bell.py``. Operations: ``maintenance.py``.
"""

import os
import sqlite3
import time
from collections.abc import Sequence

from typing_extensions import override

from tailrace.backends.sql.sweep import Sweeper
from tailrace.backends.sqlite import examination, reading, writing
from tailrace.backends.sqlite.database import SqliteDatabase
from tailrace.backends.sqlite.errors import primary_code
from tailrace.backends.sqlite.location import Location, locate
from tailrace.backends.sqlite.maintenance import SqliteMaintenance
from tailrace.backends.sqlite.session import Session
from tailrace.backends.sqlite.sweep import SqliteGround
from tailrace.backends.sqlite.watch import SqliteWatch
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError, StoreUnusableError
from tailrace.options import StoreOptions, StoreURL
from tailrace.spi import (
    AppendOutcome,
    AppendRefused,
    AppendUnknown,
    Backend,
    Bounds,
    Capabilities,
    Database,
    Entry,
    Examinable,
    Findings,
    ReadOutcome,
    ReadRequest,
    Relational,
    Unborn,
    Watch,
)

_DURABILITY = {
    "full": "An acknowledged record is in the write-ahead log and synced: it survives a power cut.",
    "normal": "An acknowledged record survives the death of any process; a power cut may take the last ones.",
}


class SqliteStore(SqliteMaintenance, Examinable, Relational, Backend):
    """One handle on a SQLite file. Thread-safe, and safe to carry into a fork.

    Also implements ``Maintenance``, ``Examinable`` and ``Relational``.

    Args:
        location: Which file.
        options: Retention and timeouts.

    Raises:
        StoreUnusableError: The file can not be used; the message says why and what to do.
    """

    def __init__(self, location: Location, options: StoreOptions | None = None) -> None:
        self._location = location
        self._options = options or StoreOptions()
        self._closed = False
        self._sessions: dict[int, Session] = {}
        self._ground = SqliteGround(self._session, self._options.append_timeout)
        self._sweeper = Sweeper(self._ground, self._options)
        self._database = SqliteDatabase(self._session)
        try:
            self._session().open(create=self._options.create is not False, timeout=self._options.append_timeout)
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"SqliteStore({str(self._location.path)!r}{', closed' if self._closed else ''})"

    @property
    @override
    def capabilities(self) -> Capabilities:
        return Capabilities(
            store=f"SQLite {sqlite3.sqlite_version}",
            durable=True,
            durability=_DURABILITY[self._location.synchronous],
            shared=True,
            enforces=frozenset({"records", "bytes"}),
            gevent="native-thread",
            fork="reopens",
            local=True,
            notes=(
                "Age is enforced by sweeps; a count or size limit may be passed by a sixteenth between two cuts.",
                "All processes must be on one host: a network file system does not carry the locks.",
            ),
        )

    @override
    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        deadline = time.monotonic() + timeout
        outcomes = self._append(entries, timeout)
        if len(entries) == 1 or not _too_much(outcomes[0]):
            return outcomes
        # Together they did not fit, and nothing of them is stored. One entry's fate must not decide its neighbours'.
        return [self._append([entry], max(0.0, deadline - time.monotonic()))[0] for entry in entries]

    def _append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        def work(connection: sqlite3.Connection) -> tuple[Sequence[AppendOutcome], set[str]]:
            outcomes = writing.append(connection, entries, self._options.kept)
            moved = {e.topic for e, o in zip(entries, outcomes, strict=True) if not isinstance(o, AppendRefused)}
            return outcomes, moved

        session = self._session()
        try:
            return session.write(work, timeout)
        except DurableStreamUnavailableError as exc:
            return [AppendUnknown(exc) if exc.maybe_stored else AppendRefused(exc)] * len(entries)

    @override
    def bounds(self, topic: str) -> Bounds | Unborn:
        return self._session().read(lambda connection: reading.bounds(connection, topic))

    @override
    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        tombstone_for = self._options.tombstone_for
        return self._session().read(
            lambda connection: [reading.page(connection, request, tombstone_for) for request in requests]
        )

    @override
    def seal(self, topic: str, error: str | None) -> None:
        def work(connection: sqlite3.Connection) -> tuple[None, set[str]]:
            return None, ({topic} if writing.seal(connection, topic, error) else set())

        self._session().write(work, self._options.append_timeout)

    @property
    @override
    def database(self) -> Database:
        return self._database

    @override
    def watch(self) -> Watch:
        return SqliteWatch(self._session())

    @override
    def examine(self) -> Findings:
        return examination.examine(self._location)

    @override
    def close(self) -> None:
        self._closed = True
        session = self._sessions.get(os.getpid())
        if session is not None:
            session.close()

    def _session(self) -> Session:
        if self._closed:
            raise DurableStreamUnavailableError("the store is closed")
        pid = os.getpid()
        session = self._sessions.get(pid)
        if session is None:
            # After a fork. Making one does nothing yet, so that of two threads that come here both may.
            session = self._sessions.setdefault(pid, Session(self._location))
        return session


def _too_much(outcome: AppendOutcome) -> bool:
    if not isinstance(outcome, AppendRefused) or not isinstance(outcome.error, StoreUnusableError):
        return False
    cause = outcome.error.__cause__
    return isinstance(cause, sqlite3.Error) and primary_code(cause) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_TOOBIG)


def open_store(url: StoreURL, options: StoreOptions) -> Backend:
    """Open ``sqlite:///relative.db`` or ``sqlite:////absolute.db``."""
    return SqliteStore(locate(url), options)


def open_engine(engine: object, options: StoreOptions) -> Backend:
    """Refuse an ``Engine`` of SQLAlchemy.

    Raises:
        InvalidArgumentError: Always.
    """
    raise InvalidArgumentError(
        "an engine of SQLite can not be used, since what it sets up is not what a store needs of its file: "
        "pass the file, as sqlite:////path/to/events.db"
    )
