"""Appending inside a transaction of the application, on its connection, through whatever driver it has.

Values stand in the statements, in hexadecimal: drivers differ in how they mark places for them, and convert what is put
there. The hint is part of the transaction, so that it is told with the commit and never without.
"""

import time
from collections.abc import Callable

from tailrace.backends.postgres.channels import Channels
from tailrace.backends.postgres.errors import explain
from tailrace.backends.postgres.literals import values_of, with_values
from tailrace.backends.postgres.session import Session
from tailrace.backends.postgres.statements import for_callers
from tailrace.backends.postgres.tables import Tables, literal
from tailrace.backends.sql.callers import Rows, Run, origin, runner, text_of
from tailrace.backends.sql.cuts import overfull
from tailrace.errors import (
    DurableStreamError,
    DurableStreamUnavailableError,
    InvalidArgumentError,
    StoreUnusableError,
    TopicSealedError,
)
from tailrace.options import StoreOptions
from tailrace.spi import Entry

MAX_BYTES = 2**28
"""Payload bytes in one statement, where they are twice as long: the server takes less than four times as many."""

# The same server, database and tables, as far as anybody may see.
_WHERE = """concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()),
    (SELECT oid FROM pg_database WHERE datname = current_database()), to_regclass({topics})::oid)"""
_BEGIN = """SELECT current_setting('lock_timeout'),
    CASE WHEN current_setting('lock_timeout') = '0' THEN set_config('lock_timeout', '{patience}', true) END, {where}"""
_END = "SELECT pg_notify('{channel}', '{word}')"
_UNSET = ", set_config('lock_timeout', '0', true)"


class Outbox:
    """Thread-safe.

    Args:
        channels: Where readers hear of it.
        cut: Called with a topic that has more than its limits, and how many records may be removed; from outside of
            any transaction of the application.
    """

    def __init__(
        self,
        session: Session,
        tables: Tables,
        options: StoreOptions,
        channels: Channels,
        cut: Callable[[str, int], None],
    ) -> None:
        self._session = session
        self._options = options
        self._channels = channels
        self._cut = cut
        self._statements = for_callers(tables)
        self._where = _WHERE.format(topics=literal(tables["topics"]))
        self._here = ""
        self._full: dict[str, int] = {}

    def append(self, connection: object, entry: Entry) -> None:
        """Store an entry as part of the transaction that is open on ``connection``."""
        run = self._mapped(runner(connection))
        size = sum(map(len, entry.payloads))
        if size > MAX_BYTES:
            raise StoreUnusableError(f"append_in takes no more than {MAX_BYTES} bytes at once")
        # Not in the transaction of the append: what a cut touches would stay locked with it, and hold up sweeps.
        if (added := self._full.pop(entry.topic, None)) is not None:
            self._cut(entry.topic, added)
        patience = max(1, int(self._options.append_timeout * 1000))
        ((before, _, where),) = run(_BEGIN.format(patience=patience, where=self._where))
        unset = _UNSET if text_of(before) == "0" else ""
        if text_of(where) not in (self._here, self._look()):
            run(f"SELECT 0{unset}")
            raise InvalidArgumentError(f"this connection is to another database than the store: {self._session.name}")
        incarnation, _, records, kept = self._store(run, entry)
        channel, word = self._channels.of(entry.topic)
        run(("SELECT 0" if incarnation is None else _END.format(channel=channel, word=word)) + unset)
        if incarnation is None:
            raise TopicSealedError("the topic is sealed: nothing can be appended to it any more")
        if overfull(self._options.kept(entry.topic), records, kept):
            self._full[entry.topic] = len(entry.payloads)

    def _store(self, run: Run, entry: Entry) -> tuple[int | None, int, int, int]:
        deadline = time.monotonic() + self._options.append_timeout
        values = values_of(entry)
        while True:
            for statement in (self._statements.grow, self._statements.bear):
                if rows := run(with_values(statement, values)):
                    ((_, incarnation, last, records, size),) = rows
                    return incarnation, last, records, size
            # Begun, or ended, by somebody else between the two.
            if time.monotonic() >= deadline:
                raise DurableStreamUnavailableError("its topic was locked by another transaction: nothing was stored")

    def _look(self) -> str:
        deadline = time.monotonic() + self._options.append_timeout
        ((self._here,),) = self._session.ask(f"SELECT {self._where}".replace("%", "%%").encode(), {}, deadline, "read")
        return self._here

    def _mapped(self, run: Run) -> Run:
        name = self._session.name

        def mapped(statement: str) -> Rows:
            try:
                return run(statement)
            except DurableStreamError:
                raise
            except Exception as exc:  # noqa: BLE001 - of whatever driver
                # What becomes of the transaction is up to its owner.
                found = origin(exc)
                raise explain(found, name, "append") from found

        return mapped
