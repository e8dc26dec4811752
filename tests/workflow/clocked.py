"""Services at a clock that the test sets."""

from collections.abc import Sequence

from tests.workflow.databases import Clock
from tests.workflow.places import Place

from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Ask, Database
from tailrace.spi.relational import Value
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import StreamRef
from tailrace.workflow.settings import WorkflowSettings

SECOND = 1_000_000


class Refusing(Clock):
    """Fails whatever removes items of some streams."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.refused: set[int] = set()

    def doing(self, ask: Ask, statement: str, values: Sequence[Value]) -> None:
        if statement.startswith("DELETE FROM {workflow_items}") and values[0] in self.refused:
            raise DurableStreamUnavailableError("its storage is away (on purpose)")


def clocked(place: Place, settings: WorkflowSettings | None = None) -> tuple[EmbeddedService, Refusing]:
    """Return a service, and its clock."""
    return place.behind(Refusing, settings)


def number_of(place: Place, stream: StreamRef) -> int:
    """Return the id of a stream."""
    rows = place.execute("SELECT id, name FROM {workflow_streams}")
    return next(int(number) for number, name in rows if bytes(name) == stream.topic.encode())


def clock_of(clock: Clock, database: Database) -> Clock:
    """Return another one that shows the same."""
    other = Clock(database)
    other.now = clock.now
    return other
