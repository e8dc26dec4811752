"""What stands between a service and its database: to look on, to wait at a statement, or to move the clock."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tailrace.spi import Ask, Database, Watch
from tailrace.spi.relational import Rows, Value, Work

T = TypeVar("T")


class Over:
    """A store whose database is another one."""

    def __init__(self, store: Any, database: Database) -> None:
        self._store = store
        self.database = database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Between(Database):
    """Passes everything on as it is. Subclasses change what they have to do with.

    Attributes:
        changes, looks: How many calls there were.
    """

    def __init__(self, database: Database) -> None:
        self.inner = database
        self.changes = self.looks = 0

    def change(self, work: Work[T], timeout: float) -> T:
        self.changes += 1
        return self.inner.change(lambda ask: work(AskBetween(ask, self)), timeout)

    def look(self, work: Callable[[Ask], T]) -> T:
        self.looks += 1
        return self.inner.look(lambda ask: work(AskBetween(ask, self)))

    def watch(self) -> Watch:
        return self.inner.watch()

    def written(self, statement: str) -> str:
        """Return a statement as it is to be sent."""
        return statement

    def asked(self, ask: Ask, statement: str, values: Sequence[Value], rows: Rows) -> None:
        """Hear of a statement that was answered."""

    def doing(self, ask: Ask, statement: str, values: Sequence[Value]) -> None:
        """Hear of a statement that is about to be sent, sooner or later."""


class AskBetween(Ask):
    """One transaction, or one look."""

    def __init__(self, ask: Ask, between: Between) -> None:
        self._ask = ask
        self._between = between

    def __call__(self, statement: str, *values: Value) -> Rows:
        rows = self._ask(self._between.written(statement), *values)
        self._between.asked(self._ask, statement, values, rows)
        return rows

    def do(self, statement: str, *values: Value) -> None:
        self._between.doing(self._ask, statement, values)
        self._ask.do(self._between.written(statement), *values)

    def add(
        self,
        table: str,
        columns: Mapping[str, type],
        rows: Sequence[Sequence[int | bytes | None]],
        *,
        if_new: bool = False,
    ) -> None:
        self._ask.add(table, columns, rows, if_new=if_new)


class Clock(Between):
    """The database's clock, as a test sets it.

    Attributes:
        now: Microseconds since the epoch.
    """

    now = 1_800_000_000_000_000

    def written(self, statement: str) -> str:
        return statement.replace("{now}", str(self.now))
