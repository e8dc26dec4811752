"""The PostgreSQL store: what the engine calls.

Reading: ``reading.py``. Changing: ``writing.py``. Their statements: ``statements.py``. Being told: ``watch.py``. Which
database, and its tables: ``location.py``, ``schema.py``. Operations: ``maintenance.py``, ``sweep.py``, ``cutting.py``.
How the server is set: ``examination.py``.
"""

import logging
import time
from collections.abc import Sequence

from typing_extensions import override

from tailrace.backends.handle import Handle, patience
from tailrace.backends.postgres import schema
from tailrace.backends.postgres.channels import Channels
from tailrace.backends.postgres.cutting import PATIENCE, Cutting
from tailrace.backends.postgres.database import PostgresDatabase
from tailrace.backends.postgres.engines import from_engine
from tailrace.backends.postgres.examination import durability, examine
from tailrace.backends.postgres.location import Location, locate
from tailrace.backends.postgres.maintenance import PostgresMaintenance
from tailrace.backends.postgres.outbox import Outbox
from tailrace.backends.postgres.reading import Reading
from tailrace.backends.postgres.session import Session
from tailrace.backends.postgres.statements import for_tables
from tailrace.backends.postgres.sweep import PostgresGround
from tailrace.backends.postgres.tables import Tables
from tailrace.backends.postgres.teller import Teller
from tailrace.backends.postgres.watch import PostgresWatch
from tailrace.backends.postgres.writing import Writing
from tailrace.backends.sql.cuts import CUT_RECORDS
from tailrace.backends.sql.sweep import Sweeper
from tailrace.errors import DurableStreamUnavailableError
from tailrace.forks import renew_in_child
from tailrace.options import StoreOptions, StoreURL
from tailrace.retention import Retention
from tailrace.spi import (
    AppendOutcome,
    AppendRefused,
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
    Transactional,
    Unborn,
    Watch,
)

_log = logging.getLogger("tailrace.store")


class PostgresStore(Handle, PostgresMaintenance, Examinable, Transactional, Relational):
    """One handle on a PostgreSQL database. Thread-safe; reopens after a fork.

    Also implements ``Maintenance``, ``Examinable``, ``Transactional`` and ``Relational``.

    Args:
        location: Which database, and where in it.
        options: Retention and timeouts. Tables are made, or brought up to this release, only with ``create=True``.

    Raises:
        StoreUnusableError: The database can not be used; the message says why and what to do.
        DurableStreamUnavailableError: The server is away.
    """

    def __init__(self, location: Location, options: StoreOptions | None = None) -> None:
        super().__init__()
        options = self._options = options or StoreOptions()
        tables = self._tables = Tables(location.schema, location.prefix)
        session = self._session = Session(location, options.append_timeout)
        seconds = self._patience = patience(options)
        self._channels = Channels(f"{location.schema}.{location.prefix}")
        self._teller = Teller(session.dial, self._channels)
        self._patient = for_tables(tables, patient=True)
        tell = self._teller.tell
        self._cutting = Cutting(session, self._patient, seconds, tell)
        self._ground = PostgresGround(session, self._patient, self._cutting, seconds)
        self._sweeper = Sweeper(self._ground, options)
        self._reading = Reading(session, self._patient, options.tombstone_for, seconds)
        prompt = for_tables(tables, patient=False)
        self._writing = Writing(session, prompt, self._patient, options, tell, self._cut)
        self._cutting_if_free = Cutting(session, prompt, seconds, tell)
        self._outbox = Outbox(session, tables, options, self._channels, self._cut_if_free)
        self._database = PostgresDatabase(session, tables, tell, self._watch_table, seconds)
        try:
            self._version = self._find(create=options.create is True)
            self._durability = durability(session, time.monotonic() + seconds)
        except BaseException:
            self.close()
            raise
        renew_in_child(self)

    def __repr__(self) -> str:
        where = f"schema={self._tables.schema!r}, prefix={self._tables.prefix!r}"
        return f"PostgresStore({self._session.name}, {where}{', closed' if self._closed else ''})"

    @property
    @override
    def capabilities(self) -> Capabilities:
        return Capabilities(
            store=f"PostgreSQL {self._version}",
            durable=True,
            durability=self._durability,
            shared=True,
            defers=True,
            enforces=frozenset({"records", "bytes"}),
            gevent="cooperative",
            fork="reopens",
            notes=(
                "Age is enforced by sweeps; a count or size limit may be passed by a sixteenth between two cuts.",
                "A transaction of somebody else that holds a topic delays appends to that topic, and to no other.",
            ),
        )

    @override
    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        if self._closed:
            return [AppendRefused(DurableStreamUnavailableError("the store is closed"))] * len(entries)
        return self._writing.append(entries, timeout)

    @override
    def append_in(self, connection: object, entry: Entry) -> None:
        self._check_open()
        self._outbox.append(connection, entry)

    @override
    def bounds(self, topic: str) -> Bounds | Unborn:
        self._check_open()
        return self._reading.bounds(topic)

    @override
    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        self._check_open()
        return self._reading.read(requests)

    @override
    def seal(self, topic: str, error: str | None) -> None:
        self._check_open()
        self._writing.seal(topic, error)

    @override
    def examine(self) -> Findings:
        self._check_open()
        return examine(self._session, self._tables, time.monotonic() + self._patience)

    @property
    @override
    def database(self) -> Database:
        return self._database

    @override
    def _open_watch(self) -> PostgresWatch:
        return self._watch_of(self._tables["topics"])

    def _watch_table(self, table: str) -> Watch:
        return self._watched(lambda: self._watch_of(table))

    def _watch_of(self, table: str) -> PostgresWatch:
        session = self._session
        return PostgresWatch(session.dial, self._channels, table, session.name, self._patience)

    @override
    def _disconnect(self) -> None:
        self._teller.close()
        self._session.close()

    @override
    def _forget(self) -> None:
        self._teller.disown()

    def _find(self, *, create: bool) -> str:
        deadline = time.monotonic() + self._patience
        try:
            return schema.check(self._session, self._tables, deadline)
        except schema.OutdatedSchemaError:
            if not create:
                raise
        schema.migrate(self._session, self._tables, schema.MIGRATION_SECONDS)
        return schema.check(self._session, self._tables, time.monotonic() + self._patience)

    def _cut(self, topic: str, added: int) -> None:
        self._cut_by(self._cutting, topic, added)

    def _cut_if_free(self, topic: str, added: int) -> None:
        # It may be the very transaction of who appends now that holds the topic: not to be waited for.
        self._cut_by(self._cutting_if_free, topic, added)

    def _cut_by(self, cutting: Cutting, topic: str, added: int) -> None:
        keep = self._options.kept(topic)
        keep = Retention(max_records=keep.max_records, max_bytes=keep.max_bytes)
        try:
            cutting.cut(topic, None, keep, 0, CUT_RECORDS + added, PATIENCE)
        except DurableStreamUnavailableError as exc:
            _log.warning("a topic could not be cut to its limits, and is left to a sweep: %s", exc)


def open_engine(engine: object, options: StoreOptions) -> Backend:
    """Open the store in the database of an ``Engine`` of SQLAlchemy."""
    return PostgresStore(from_engine(engine), options)


def open_store(url: StoreURL, options: StoreOptions) -> Backend:
    """Open ``postgresql://user:password@host:port/database?schema=...&prefix=...``."""
    return PostgresStore(locate(url), options)
