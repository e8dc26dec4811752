"""More tables in the same schema: transactions and looks for what is kept beside the topics."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg.types.numeric import Int8
from typing_extensions import override

from tailrace.backends.postgres.errors import code_of
from tailrace.backends.postgres.session import Session
from tailrace.backends.postgres.tables import Tables
from tailrace.backends.postgres.wire import Wire
from tailrace.backends.sql.words import EXTRA_TABLES, Words
from tailrace.errors import DurableStreamError, DurableStreamUnavailableError
from tailrace.spi import Watch
from tailrace.spi.relational import Ask, Database, Rows, Value, Work

T = TypeVar("T")

_TYPES = {int: "bigint", bytes: "bytea"}
_DUPLICATE = "23505"
_BEGIN = b"BEGIN ISOLATION LEVEL READ COMMITTED"
_PATIENCE = b"SELECT set_config('lock_timeout', %b, true)"
_DRIVERS_OWN = (psycopg.Error, OSError)


class PostgresDatabase(Database):
    """Thread-safe.

    Args:
        tell: Says that topics moved, after the commit.
        watch: Opens a watch of a table of topics, as it stands in a statement.
        patience: Seconds that a look may take.
    """

    def __init__(
        self,
        session: Session,
        tables: Tables,
        tell: Callable[[Collection[str]], None],
        watch: Callable[[str], Watch],
        patience: float,
    ) -> None:
        self._session = session
        self._streams = tables["workflow_streams"]
        self._tell = tell
        self._watch = watch
        self._patience = patience
        self._words = Words(
            {
                # A percent sign in a name is one to the driver too.
                **{name: tables[name].replace("%", "%%") for name in (*EXTRA_TABLES, "graves")},
                "now": "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
                "for_update": "FOR UPDATE",
                "for_share": "FOR SHARE",
                "skip_locked": "FOR UPDATE SKIP LOCKED",
                "moved": "",
                "stamp": "clock_timestamp()",
            }
        )

    @override
    def change(self, work: Work[T], timeout: float) -> T:
        deadline = time.monotonic() + timeout
        while True:
            try:
                result, moved = self._attempt(work, deadline)
            except DurableStreamUnavailableError as exc:
                if exc.maybe_stored or time.monotonic() >= deadline or not self._came_to_nothing(exc.__cause__):
                    raise
            else:
                if moved:
                    self._tell(moved)
                return result

    @override
    def look(self, work: Callable[[Ask], T]) -> T:
        deadline = time.monotonic() + self._patience
        return self._session.again(lambda wire: work(_Ask(wire, self._words, deadline)), deadline, "read")

    @override
    def watch(self) -> Watch:
        return self._watch(self._streams)

    def _attempt(self, work: Work[T], deadline: float) -> tuple[T, Collection[str]]:
        committing = False
        refusal: DurableStreamError | None = None
        try:
            with self._session.lent(deadline, "append") as wire:
                # A little less than the caller has: the answer that nothing was stored is worth more than none.
                patience = max(1, int((deadline - time.monotonic()) * 900))
                # As a function, so that its statement is the same one each time.
                ask = _Ask(wire, self._words, deadline, [(_BEGIN, None), (_PATIENCE, [str(patience)])])
                try:
                    outcome = work(ask)
                except _DRIVERS_OWN:
                    raise
                except DurableStreamError as exc:
                    refusal = exc
                    wire.ask(b"ROLLBACK", None, deadline)
                else:
                    committing = True
                    wire.ask_together([*ask.pending, (b"COMMIT", None)], deadline)
                    return outcome
        except DurableStreamUnavailableError as exc:
            # Before the commit was sent, it is certain: with the connection goes the transaction.
            exc.maybe_stored = exc.maybe_stored and committing
            raise
        assert refusal is not None
        raise refusal

    def _came_to_nothing(self, cause: BaseException | None) -> bool:
        # Of two that add the same row the second one is told when the first has committed: now it finds it.
        return self._session.came_to_nothing(cause) or (cause is not None and code_of(cause) == _DUPLICATE)


class _Ask(Ask):
    """What only has to be done waits for what is asked next, or for the commit: they share a round trip.

    Args:
        pending: What goes first.
    """

    def __init__(self, wire: Wire, words: Words, deadline: float, pending: Sequence[tuple[bytes, Any]] = ()) -> None:
        self._wire = wire
        self._words = words
        self._deadline = deadline
        self.pending = list(pending)

    @override
    def __call__(self, statement: str, *values: Value) -> Rows:
        self.do(statement, *values)
        statements, self.pending = self.pending, []
        return self._wire.ask_together(statements, self._deadline)

    @override
    def do(self, statement: str, *values: Value) -> None:
        parts, lists = self._words.cut(statement)
        text = parts[0]
        for listed, part in zip(lists, parts[1:], strict=True):
            text += ("= ANY (%b)" if listed else "%b") + part
        self.pending.append((text.encode(), [*map(_bound, values)]))

    @override
    def add(
        self,
        table: str,
        columns: Mapping[str, type],
        rows: Sequence[Sequence[int | bytes | None]],
        *,
        if_new: bool = False,
    ) -> None:
        # A column without any value has no type that the driver could tell.
        named = {
            name: [*map(_bound, values)]
            for name, values in zip(columns, zip(*rows, strict=True), strict=True)
            if any(value is not None for value in values)
        }
        types = ", ".join(f"%b::{_TYPES[columns[name]]}[]" for name in named)
        statement = f"INSERT INTO {self._words[table]} ({', '.join(named)}) SELECT * FROM unnest({types})"
        if if_new:
            statement += " ON CONFLICT DO NOTHING"
        self.pending.append((statement.encode(), [*named.values()]))


def _bound(value: Value) -> Any:  # noqa: ANN401 - as the driver takes it
    """Return a value of a type that has one form only, so that each statement is prepared once."""
    if isinstance(value, int):
        return Int8(value)
    if value is None or isinstance(value, bytes):
        return value
    return [*map(_bound, value)]
