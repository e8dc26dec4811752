"""Which life a topic has by now, looked at and begun on connections of the store, outside of anybody's transaction."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tailrace.backends.mysql import literals
from tailrace.backends.mysql.calls import Calls
from tailrace.backends.mysql.line import Rows
from tailrace.backends.mysql.tables import Statements
from tailrace.backends.mysql.transactions import Transactions
from tailrace.backends.mysql.writing import Ask
from tailrace.backends.sql.callers import text_of
from tailrace.spi.identities import random_incarnation


class Life(NamedTuple):
    """A topic, and the name of the database that it is in."""

    id: int
    incarnation: int
    database: str


class Lives:
    """Thread-safe.

    Args:
        deadline: Returns that of what begins now.
    """

    def __init__(
        self, calls: Calls, transactions: Transactions, statements: Statements, deadline: Callable[[], float]
    ) -> None:
        self._calls = calls
        self._transactions = transactions
        self._statements = statements
        self._deadline = deadline

    def find(self, topic: str) -> Life | None:
        """Return a topic as it is; ``None`` if it is not there."""
        look = self._look(topic)
        deadline = self._deadline()
        return _life(self._calls.again(lambda line: line.ask(look, deadline)[-1], deadline))

    def begun(self, topic: str) -> Life:
        """Return a topic as it is, after beginning it, empty, if it was not there."""

        def work(ask: Ask) -> tuple[Sequence[bytes], None]:
            # Looked for again in there: if somebody else was faster, that is told, and this is called once more.
            if ask(self._look(topic))[-1]:
                return (), None
            return [self._statements.begin % (literals.text(topic.encode()), random_incarnation())], None

        deadline = self._deadline()
        while (life := self.find(topic)) is None:
            self._transactions.run(work, deadline)
        return life

    def _look(self, topic: str) -> Sequence[bytes]:
        return [self._statements.life % literals.text(topic.encode())]


def _life(rows: Rows) -> Life | None:
    if not rows:
        return None
    ((id_, incarnation, database),) = rows
    return Life(int(id_), int(incarnation), text_of(database))
