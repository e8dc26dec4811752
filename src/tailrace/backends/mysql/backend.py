"""The MySQL and MariaDB store: what the engine calls.

Reading: ``reading.py``. Changing: ``appending.py``, ``writing.py``, ``transactions.py``. Being told: ``watch.py``.
Connections: ``calls.py``, ``dialing.py``, ``line.py``. Operations: ``maintenance.py``, ``sweep.py``,
``schema.py``. How the server is set: ``examination.py``.
"""

from collections.abc import Sequence

from typing_extensions import override

from tailrace import limits
from tailrace.backends.handle import Handle, patience
from tailrace.backends.mysql import examination, schema, writing
from tailrace.backends.mysql.appending import Appending
from tailrace.backends.mysql.calls import Calls
from tailrace.backends.mysql.database import MysqlDatabase
from tailrace.backends.mysql.engines import from_engine
from tailrace.backends.mysql.line import OVERHEAD, Line
from tailrace.backends.mysql.lives import Lives
from tailrace.backends.mysql.location import Location, locate
from tailrace.backends.mysql.maintenance import MysqlMaintenance
from tailrace.backends.mysql.outbox import Outbox
from tailrace.backends.mysql.reading import Reading
from tailrace.backends.mysql.sweep import MysqlGround
from tailrace.backends.mysql.tables import for_streams, for_tables
from tailrace.backends.mysql.transactions import Transactions
from tailrace.backends.mysql.watch import MysqlWatch
from tailrace.backends.mysql.writing import Ask
from tailrace.backends.sql.sweep import Sweeper
from tailrace.errors import DurableStreamUnavailableError
from tailrace.forks import renew_in_child
from tailrace.options import StoreOptions, StoreURL
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

MARGIN = 2**16
"""Bytes of ``max_allowed_packet`` that no payload may take: a row has more than it, and so has an answer."""


class MysqlStore(Handle, MysqlMaintenance, Examinable, Transactional, Relational):
    """One handle on a database of MySQL or MariaDB. Thread-safe; reopens after a fork.

    Also implements ``Maintenance``, ``Examinable``, ``Transactional`` and ``Relational``.

    Args:
        location: Which database, and how to connect.
        options: Retention and timeouts.

    Raises:
        StoreUnusableError: The database can not be used; the message says why and what to do.
        DurableStreamUnavailableError: The server is away.
    """

    def __init__(self, location: Location, options: StoreOptions | None = None) -> None:
        super().__init__()
        options = self._options = options or StoreOptions()
        self._location = location
        self._prefix = location.prefix
        self._patience = patience(options)
        calls = self._calls = Calls(location)
        statements = self._statements = for_tables(location.prefix)
        transactions = self._transactions = Transactions(calls)
        self._reading = Reading(calls, statements, options.tombstone_for)
        self._ground = MysqlGround(calls, transactions, statements, self._patience)
        self._sweeper = Sweeper(self._ground, options)
        try:
            self._product, self._durability, packet = self._greet()
            schema.check(calls, location.prefix, self._deadline(), create=bool(options.create))
        except BaseException:
            self.close()
            raise
        self._max_payload = max(1, min(limits.MAX_PAYLOAD_BYTES, packet - MARGIN))
        self._appending = Appending(transactions, statements, options.kept, (packet - OVERHEAD) // 2)
        self._outbox = Outbox(
            location.name,
            Lives(calls, transactions, statements, self._deadline),
            transactions,
            statements,
            options.kept,
            (packet - OVERHEAD) // 2,
            self._deadline,
            options.append_timeout,
        )
        self._database = MysqlDatabase(calls, transactions, location.prefix, self._watch_streams, self._patience)
        renew_in_child(self)

    def __repr__(self) -> str:
        return f"MysqlStore({self._location.name}, prefix={self._prefix!r}{', closed' if self._closed else ''})"

    @property
    @override
    def capabilities(self) -> Capabilities:
        return Capabilities(
            store=self._product,
            durable=True,
            durability=self._durability,
            shared=True,
            defers=True,
            enforces=frozenset({"records", "bytes"}),
            gevent="cooperative" if self._location.driver == "pymysql" else "refused",
            fork="reopens",
            max_payload=self._max_payload,
            notes=(
                "Age is enforced by sweeps; a count or size limit may be passed by a sixteenth between two cuts.",
                f"Changes by other processes are found by asking, every {self._location.poll_min * 1000:g} to "
                f"{self._location.poll_max * 1000:g} ms.",
            ),
        )

    @override
    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        if self._closed:
            return [AppendRefused(DurableStreamUnavailableError("the store is closed"))] * len(entries)
        return self._appending.append(entries, timeout)

    @override
    def append_in(self, connection: object, entry: Entry) -> None:
        self._check_open()
        self._outbox.append(connection, entry)

    @override
    def bounds(self, topic: str) -> Bounds | Unborn:
        return self._reading.bounds(topic, self._deadline())

    @override
    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        return self._reading.read(requests, self._deadline())

    @override
    def seal(self, topic: str, error: str | None) -> None:
        reason = None if error is None else error.encode()

        def work(ask: Ask) -> tuple[Sequence[bytes], None]:
            return writing.seal(ask, self._statements, topic, reason), None

        self._transactions.run(work, self._deadline())

    @override
    def examine(self) -> Findings:
        deadline = self._deadline()
        return self._calls.again(lambda line: examination.examine(line, self._location, deadline), deadline)

    @property
    @override
    def database(self) -> Database:
        return self._database

    @override
    def _open_watch(self) -> MysqlWatch:
        return MysqlWatch(self._location, self._statements, self._patience)

    def _watch_streams(self) -> Watch:
        return self._watched(lambda: MysqlWatch(self._location, for_streams(self._prefix), self._patience))

    @override
    def _disconnect(self) -> None:
        self._calls.close()

    @override
    def _forget(self) -> None:
        self._calls.forget()

    def _greet(self) -> tuple[str, str, int]:
        deadline = self._deadline()

        def work(line: Line) -> tuple[str, str, int]:
            flushed = line.ask([b"SELECT @@innodb_flush_log_at_trx_commit"], deadline)[-1][0][0]
            name = "MariaDB" if line.mariadb else "MySQL"
            number = line.version.removeprefix("5.5.5-").split("-")[0]
            return (
                f"{name} {number}",
                examination.durability({"innodb_flush_log_at_trx_commit": str(flushed)}),
                line.packet,
            )

        return self._calls.again(work, deadline)


def open_engine(engine: object, options: StoreOptions) -> Backend:
    """Open the store in the database of an ``Engine`` of SQLAlchemy."""
    return MysqlStore(from_engine(engine), options)


def open_store(url: StoreURL, options: StoreOptions) -> Backend:
    """Open ``mysql://user:password@host:3306/database`` or ``mariadb://``."""
    return MysqlStore(locate(url), options)
