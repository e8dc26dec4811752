"""A service that is carried into a child works there, whatever was going on in its parent at that moment."""

import asyncio
import threading

import pytest
from tests import polling
from tests.forks.children import child, ended_well
from tests.workflow.databases import Between
from tests.workflow.items import items, payloads
from tests.workflow.places import Place

from tailrace.spi import Ask, Database
from tailrace.spi.relational import Rows, Value
from tailrace.testing.reading import Background, take
from tailrace.testing.servers.waiting import until
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import StreamRef

# Python 3.12 and later warn of every fork with threads; that is what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def use(service: EmbeddedService, stream: StreamRef) -> None:
    """Do with a service what can be done: append, wait in both ways, follow, end, sweep."""
    at = service.append(stream, items("x")).offsets[0] + 1
    blocked = Background(lambda: service.subscribe(stream, from_offset=at, wait_seconds=60))

    async def run() -> None:
        waiting = asyncio.create_task(service.subscribe_async(stream, from_offset=at, wait_seconds=60))
        await polling.until(lambda: waiting.done() or service.engine.stats()["subscriptions"] >= 2, "both wait")
        await asyncio.to_thread(service.append, stream, items("y"))
        assert (await waiting).next_offset == at + 1

    asyncio.run(run())
    assert blocked.result().next_offset == at + 1
    until(lambda: service.describe(stream).pending_items == 0, "the delivery is noted")
    with service.topic(stream).subscribe_from_beginning() as subscription:
        take(subscription, at + 1)
    other = stream.run.stream(f"beside-{at}")
    service.append(other, items("z"))
    service.end(other)
    service.sweep()


class Held(Between):
    """Holds a look of a waiting reader, once it is told to."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.holding = False
        self.reached, self.released = threading.Event(), threading.Event()

    def asked(self, ask: Ask, statement: str, values: tuple[Value, ...], rows: Rows) -> None:  # type: ignore[override]
        # Those of the engine's loop are by many names.
        if self.holding and "name = ?" in statement:
            self.holding = False
            self.reached.set()
            assert self.released.wait(30)


def test_a_child_uses_the_service_and_so_does_its_parent(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    use(service, stream)
    assert ended_well(child(lambda: use(service, stream)))
    use(service, stream)
    assert payloads(service, stream) == ["x", "y"] * 3


@pytest.mark.parametrize("place", ["postgres", "mariadb"], indirect=True)
def test_a_child_waits_for_nothing_that_its_parent_was_at(place: Place) -> None:
    service, held = place.behind(Held)
    stream = place.stream()
    service.append(stream, items("a"))
    waiting = Background(lambda: service.subscribe(stream, from_offset=1, wait_seconds=60))
    until(lambda: service.engine.stats()["subscriptions"] == 1, "it waits")
    # The one that was woken is looking when the process forks.
    held.holding = True
    place.service().append(stream, items("b"))
    assert held.reached.wait(30)
    assert ended_well(child(lambda: use(service, stream)))
    held.released.set()
    assert waiting.result().next_offset >= 2


@pytest.mark.parametrize("place", ["postgres", "mariadb"], indirect=True)
def test_a_child_that_is_forked_during_a_statement_is_not_kept_by_it(place: Place) -> None:
    service, stream = place.service(), place.stream()
    asleep = "SELECT pg_sleep(1)" if place.engine == "postgres" else "SELECT SLEEP(1)"
    running = (
        "SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(1)' AND state = 'active'"
        if place.engine == "postgres"
        else "SELECT 1 FROM information_schema.processlist WHERE info = 'SELECT SLEEP(1)'"
    )
    inside = Background(lambda: service.database.look(lambda ask: ask(asleep)))
    until(lambda: bool(place.execute(running)), "the statement runs")
    pid = child(lambda: use(service, stream))
    assert len(inside.result()) == 1
    assert ended_well(pid)
