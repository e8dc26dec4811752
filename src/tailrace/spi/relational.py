"""A store's database, for what is kept in tables of its own beside the topics: transactions, looks, and hints.

Statements are written once for all databases. A value stands as ``?``, a list of them as ``IN ??``, a table as
``{workflow_streams}``; and these words are the database's own:

    {now}          microseconds since the epoch by its clock
    {stamp}        the same instant, as ``{graves}`` keeps it in ``deleted_at``
    {for_update}   at the end of a SELECT: locks the rows until the transaction ends, waiting for who has them
    {for_share}    the same, beside others who do so
    {skip_locked}  like {for_update}, leaving out what others have locked
    {moved}        in the SET of an UPDATE of {workflow_streams}, at its end: readers have to hear of it

Values and results are integers, bytes and ``None``: no text depends on an encoding or a collation.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from tailrace.spi.backend import Watch

T = TypeVar("T")

Value: TypeAlias = int | bytes | Sequence[int] | Sequence[bytes] | None
Rows: TypeAlias = Sequence[tuple[Any, ...]]


class Ask(Protocol):
    """What runs statements. Used by one thread, for as long as the work that it was given to."""

    def __call__(self, statement: str, *values: Value) -> Rows:
        """Run a statement; return its rows."""
        ...

    def do(self, statement: str, *values: Value) -> None:
        """Run a statement whose result does not matter: now, or together with what comes next."""
        ...

    def add(
        self,
        table: str,
        columns: Mapping[str, type],
        rows: Sequence[Sequence[int | bytes | None]],
        *,
        if_new: bool = False,
    ) -> None:
        """Insert rows, like ``do``.

        Args:
            columns: Their names, and whether they hold ``int`` or ``bytes``.
            if_new: Leave out those whose unique columns are there already, after waiting for who may be adding them.
        """
        ...


Work: TypeAlias = Callable[[Ask], tuple[T, Collection[str]]]
"""What is done in a transaction: returns its result, and the topics that moved. May be called again after its
transaction came to nothing, so it keeps nothing outside."""


class Database(Protocol):
    """Thread-safe; blocks. A forked child gets its own connections."""

    def change(self, work: Work[T], timeout: float) -> T:
        """Run one transaction, commit it, and tell everybody which topics moved.

        An error of ours in ``work`` rolls it back and is raised; any other one costs the connection as well. Isolation
        is read committed: each statement sees what was committed before it. Conflicts that certainly came to nothing,
        such as a row that somebody else has added meanwhile, are tried again.

        Raises:
            DurableStreamUnavailableError: Nothing was stored, or (``maybe_stored``) it is not known.
        """
        ...

    def look(self, work: Callable[[Ask], T]) -> T:
        """Run statements that only read; they need not see one and the same instant.

        Raises:
            DurableStreamUnavailableError: They could not be answered.
        """
        ...

    def watch(self) -> Watch:
        """Open a watch of the topics in ``{workflow_streams}``."""
        ...


@runtime_checkable
class Relational(Protocol):
    """A fifth interface that a ``Backend`` may also satisfy: it lives in a database with room for more tables."""

    @property
    def database(self) -> Database:
        """The database."""
        ...
