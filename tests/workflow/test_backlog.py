"""S27: a backlog of a million expired items falls to nothing, whoever dies at it, and no producer waits for it."""

import threading
import time
from collections.abc import Sequence

import pytest
from tests.workflow.crowd import Crowd, There
from tests.workflow.databases import Between, Over
from tests.workflow.items import items
from tests.workflow.places import Place

from tailrace import spi
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import StoreOptions, parse_url
from tailrace.spi import Ask, Database
from tailrace.spi.relational import Value
from tailrace.testing.servers.waiting import until
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import Run, StreamRef
from tailrace.workflow.settings import WorkflowSettings

RUN = Run("default", "backlog", "r")
FAILING = RUN.stream("s7")


def load(database: Database, streams: int, each: int) -> None:
    """Add streams that expired long ago, with items."""

    def begin(ask: Ask) -> tuple[int, list[str]]:
        columns = {"namespace": bytes, "workflow_id": bytes, "run_id": bytes, "registered": int, "started_at": int}
        ask.add("workflow_runs", columns, [(b"default", b"backlog", b"r", 0, 1)])
        return int(ask("SELECT id FROM {workflow_runs} WHERE workflow_id = ?", b"backlog")[0][0]), []

    run = database.change(begin, 60.0)
    portion = max(1, 10_000 // each)
    for first in range(0, streams, portion):
        refs = [RUN.stream(f"s{number}") for number in range(first, min(streams, first + portion))]

        def work(ask: Ask, refs: Sequence[StreamRef] = refs, first: int = first) -> tuple[None, list[str]]:
            columns = {"run": int, "stream_name": bytes, "name": bytes, "incarnation": int, "opened_at": int}
            columns |= {"last_position": int, "sealed": int, "expires_at": int, "reclaim_at": int}
            rows = [
                (run, ref.name.encode(), ref.topic.encode(), 1, 1, each, 1, first + at, first + at)
                for at, ref in enumerate(refs)
            ]
            ask.add("workflow_streams", columns, rows)
            found = ask("SELECT id FROM {workflow_streams} WHERE name IN ??", [ref.topic.encode() for ref in refs])
            columns = {"stream": int, "position": int, "tag": int, "digest": bytes, "document": bytes}
            added = [
                (number, at + 1, 7, b"d" * 16, b'{"offset":0, "payload":1}')
                for (number,) in found
                for at in range(each)
            ]
            ask.add("workflow_items", columns, added)
            return None, []

        database.change(work, 60.0)


class Busy(Between):
    """Stops in the midst of a pass, with a stream locked; and fails to remove the items of another one."""

    def __init__(self, database: Database, there: There, after: int) -> None:
        super().__init__(database)
        self._there = there
        self._after = after
        self._failing = int(database.look(lambda ask: ask(_ID, FAILING.topic.encode()))[0][0])

    def doing(self, ask: Ask, statement: str, values: Sequence[Value]) -> None:
        if self.changes == self._after:
            self._there.tell("in the midst")
            self._there.heard()
        if statement.startswith("DELETE FROM {workflow_items}") and values[0] == self._failing:
            raise DurableStreamUnavailableError("the storage of its payloads is away (on purpose)")


_ID = "SELECT id FROM {workflow_streams} WHERE name = ?"


def sweep(there: There, url: str, after: int) -> int:
    """Sweep until nothing is left; return how many could not be removed."""
    store = spi.open_store(parse_url(url), StoreOptions())
    database = Busy(store.database, there, after)  # type: ignore[attr-defined]
    service = EmbeddedService(Over(store, database), WorkflowSettings(retry_after=3600.0))  # type: ignore[arg-type]
    failed = 0
    while not (result := service.sweep()).done:
        failed += result.failed
    service.close()
    return failed + result.failed


class Gaps:
    """How long this process was kept from running, at worst: no wait of its own is shorter."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Gaps":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            self._stop.wait(0.01)
            self.worst = max(self.worst, time.monotonic() - began - 0.01)


def falls(place: Place, crowd: Crowd, streams: int, each: int, midst: int) -> tuple[list[float], float]:
    """Sweep a backlog in two processes, kill one, and append meanwhile; return the seconds of appends, and noise."""
    load(place.shared.database, streams, each)
    live, waits = place.stream(), []
    (survivor,) = crowd.members(1)
    with Gaps() as gaps, crowd.one_of_its_own() as doomed:
        doomed.begin(sweep, place.url, midst)
        assert doomed.said() == "in the midst"
        if place.engine == "sqlite":
            # Nobody writes while it holds anything.
            doomed.kill()
        survivor.begin(sweep, place.url, NEVER)
        overdue = time.monotonic() + 60 + streams * each / 500
        while survivor.quiet():
            began = time.monotonic()
            assert began < overdue, "the sweep does not come to an end"
            place.shared.append(live, items("x"))
            waits.append(time.monotonic() - began)
            if len(waits) % 1000 == 0:
                place.shared.subscribe(live, from_offset=len(waits) - 1)
        # The one that fails was met, and put off, by the other one.
        assert survivor.result() == 0
        if doomed.alive:
            # All but that and what the other one has locked.
            assert left(place) == 2
            doomed.kill()
    until(lambda: place.shared.sweep().done and left(place) == 1, "the backlog falls to nothing")
    assert place.count("workflow_items", f"stream <> {number(place, live.topic)}") == each
    assert place.count("workflow_streams", "horizon_position = last_position") == streams - 1
    return waits, gaps.worst


NEVER = -1


def left(place: Place) -> int:
    """Return how many streams are still to be reclaimed."""
    return place.count("workflow_streams", "reclaim_at IS NOT NULL")


def number(place: Place, topic: str) -> int:
    """Return the id of a stream."""
    return int(place.shared.database.look(lambda ask: ask(_ID, topic.encode()))[0][0])


def test_s27_a_backlog_falls_to_nothing_although_a_sweeper_dies_and_a_stream_fails(place: Place, crowd: Crowd) -> None:
    waits, _ = falls(place, crowd, 120, 20, 30)
    assert waits


@pytest.mark.long
def test_s27_a_million_items_of_twenty_thousand_streams_keep_no_producer_waiting(place: Place, crowd: Crowd) -> None:
    waits, noise = falls(place, crowd, 20_000, 50, 500)
    print(f"{place.engine}: {len(waits)} appends, {max(waits):.3f} s at most, {noise:.3f} s of that noise")  # noqa: T201
    assert max(waits) < 1.0 + noise
