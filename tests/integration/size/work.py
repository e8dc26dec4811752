"""What a store's operation made an engine do, as the engine itself tells it: no statement is copied into a test."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from tailrace import spi
from tailrace.options import StoreOptions

EACH = 12
"""Records of a loaded topic."""

TAG = 7
SIZE = 20
"""Bytes of a loaded payload."""


FEW = 500
"""Rows that may as well be read one after the other: an engine does so with a table that is no longer than that."""


@dataclass(frozen=True)
class Done:
    """One statement that was performed.

    Attributes:
        statement: As it was sent, for messages.
        scanned: Tables or indexes of which it read everything.
        rows: That it looked at; of an engine that has no such number, the steps of its machine.
    """

    statement: str
    scanned: Sequence[str] = ()
    rows: int = 0


@dataclass(frozen=True)
class Work:
    """All that one operation was.

    Attributes:
        pages: Of tables and indexes that were touched; 0 where the engine does not tell.
    """

    done: Sequence[Done]
    pages: int

    @property
    def rows(self) -> int:
        """Looked at by all statements."""
        return sum(one.rows for one in self.done)

    @property
    def most(self) -> int:
        """Rows that one statement looked at."""
        return max((one.rows for one in self.done), default=0)

    @property
    def scans(self) -> Sequence[Done]:
        """Statements that read a table or an index from end to end, where that is more than a few rows."""
        return [one for one in self.done if one.scanned and one.rows > FEW]


class Engine(ABC):
    """A server, or a file, with the tables of one store. A context manager; not thread-safe.

    Attributes:
        topics: How many were loaded.
        per_row: How many it counts for a row, at most.
    """

    topics = 0
    per_row = 1

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @abstractmethod
    def open(self, options: StoreOptions | None = None) -> Any:
        """Open the store."""

    @abstractmethod
    def load(self, topics: int, each: int = EACH) -> None:
        """Add topics ``t0000001`` and so on, by statements of the engine's own.

        Each tenth is empty and idle; each other one has ``each`` records. Stamps are a millisecond apart, and all of
        them hours old. A tenth as many are remembered as deleted.
        """

    @abstractmethod
    def work(self, operation: Callable[[], object]) -> Work:
        """Perform an operation, and return what it was."""

    @abstractmethod
    def perform(self, statement: str) -> None:
        """Perform a statement as whoever uses no store; ``{topics}`` stands for the table."""

    def name(self, share: float, nth: int, *, empty: bool = False) -> str:
        """Return one of the loaded topics: the nth one from a share of all on."""
        tens = int(self.topics * share) // 10 + nth
        return f"t{tens * 10 + (0 if empty else 3):07}"

    def incarnation(self, topic: str) -> int:
        """Return the life of a loaded topic."""
        return int(topic[1:])

    def tail(self, topic: str) -> spi.Boundary:
        """Return where a loaded topic ends."""
        return spi.Boundary(self.incarnation(topic), EACH, TAG)
