"""Expiry at the database's instant, leases, and passes of retention: at a clock that the test sets."""

import threading
from collections.abc import Callable, Sequence

import pytest
from tests.workflow.databases import Clock
from tests.workflow.items import items, keyed, payloads
from tests.workflow.places import Place

from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError
from tailrace.spi import Ask, Database
from tailrace.spi.relational import Value
from tailrace.testing.reading import Background, take
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.errors import RunNotFoundError, StreamErroredError, StreamNotFoundError
from tailrace.workflow.model import Status, StreamRef
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
    made: list[Refusing] = []

    def around(database: Database) -> Database:
        made.append(Refusing(database))
        return made[0]

    return place.service(settings, around=around), made[0]


def number_of(place: Place, stream: StreamRef) -> int:
    """Return the id of a stream."""
    rows = place.execute("SELECT id, name FROM {workflow_streams}")
    return next(int(number) for number, name in rows if bytes(name) == stream.topic.encode())


CALLS: dict[str, Callable[[EmbeddedService, StreamRef], object]] = {
    "describe": lambda service, stream: service.describe(stream),
    "subscribe": lambda service, stream: service.subscribe(stream),
    "wait": lambda service, stream: service.subscribe(stream, from_offset=1, wait_seconds=60),
    "append": lambda service, stream: service.append(stream, keyed("a")),
    "end": lambda service, stream: service.end(stream),
    "place": lambda service, stream: service.place_before(stream, 0),
}


@pytest.mark.parametrize("swept", [False, True], ids=["not swept", "swept"])
def test_a_stream_is_not_found_anywhere_from_its_instant_on_and_found_just_before(place: Place, swept: bool) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    service.append(stream, keyed("a"))
    ended = service.end(stream, retention_seconds=5)
    assert ended.closed_at == clock.now
    clock.now += 5 * SECOND - 1
    assert service.sweep().streams == 0
    for call in CALLS.values():
        call(service, stream)
    assert len(service.list_streams(stream.run)) == 1
    clock.now += 1
    if swept:
        assert (service.sweep().streams, place.count("workflow_items")) == (1, 0)
    for call in CALLS.values():
        with pytest.raises(StreamNotFoundError):
            call(service, stream)
    assert list(service.list_streams(stream.run)) == []


def test_expiry_can_not_be_undone_before_the_run_is_deleted(place: Place) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    service.append(stream, items("abc"))
    service.end(stream, retention_seconds=1, error_reason="why")
    clock.now += SECOND
    service.sweep()
    for _ in range(2):
        with pytest.raises(StreamNotFoundError):
            service.append(stream, items("d"))
        # The tombstone: no item, no reason, nothing that is swept again.
        assert place.execute("SELECT last_position, error_reason, reclaim_at FROM {workflow_streams}") == [
            (3, None, None)
        ]
        assert service.sweep().streams == 0
        clock.now += 10**15
    service.delete_run(stream.run)
    assert list(service.append(stream, items("d")).offsets) == [0]


def test_readers_of_a_stream_that_expires_are_told_and_skip_nothing(place: Place) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    topic = service.topic(stream)
    service.append(stream, items("abc"))
    with topic.subscribe_from_beginning() as subscription:
        cursor = take(subscription, 1)[0].cursor
    service.end(stream, retention_seconds=1)
    clock.now += SECOND
    with pytest.raises(CursorUnavailableError):
        topic.subscribe_from_cursor(cursor).__enter__()


def test_a_long_active_stream_and_one_that_was_idle_for_long_stay_as_they_are(place: Place) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    service.append(stream, items("a"))
    with service.topic(stream).subscribe_from_beginning() as subscription:
        take(subscription, 1)
        before = place.execute("SELECT incarnation FROM {workflow_streams}")
        for number in range(3):
            clock.now += 2 * 2_592_000 * SECOND
            assert service.sweep().streams == 0
            assert list(service.append(stream, items([number])).offsets) == [number + 1]
            assert take(subscription, 1)[0].payload == b"%d" % number
        assert place.execute("SELECT incarnation FROM {workflow_streams}") == before


def test_a_clock_that_goes_back_ends_a_stream_no_earlier_than_its_last_item(place: Place) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    appended = service.append(stream, items("a"))
    clock.now -= 100 * SECOND
    again = service.append(stream, items("b"))
    assert again.stream.last_appended_at == appended.stream.last_appended_at
    assert service.end(stream, retention_seconds=1).closed_at == appended.stream.last_appended_at
    clock.now += 100 * SECOND
    assert service.describe(stream).status is Status.CLOSED


def test_s29_a_producer_that_is_not_heard_of_is_lost_at_its_instant_and_once(place: Place) -> None:
    service, clock = clocked(place)
    others = [clocked(place) for _ in range(2)]
    stream = place.stream()
    service.append(stream, keyed("a"), lease_seconds=5)
    with service.topic(stream).subscribe_from_tail() as subscription:
        clock.now += 4 * SECOND
        service.renew(stream, 5)
        clock.now += 4 * SECOND
        # A duplicate is a sign of life as well.
        service.append(stream, keyed("a"), lease_seconds=5)
        clock.now += 5 * SECOND - 1
        assert service.sweep().lost_producers == 0
        clock.now += 1
        for _, other in others:
            other.now = clock.now
        lost = [sweeper.sweep().lost_producers for sweeper in (others[0][0], service, others[1][0], service)]
        assert lost == [1, 0, 0, 0]
        ended = service.describe(stream)
        assert (ended.status, ended.error_reason, ended.closed_at) == (Status.ERRORED, "producer lost", clock.now)
        assert ended.retention_seconds == 3600
        assert subscription.receive(timeout=20) is not None
        assert subscription.end is not None
        assert subscription.end.error == "producer lost"
    with pytest.raises(StreamErroredError):
        service.append(stream, keyed("b"))
    assert service.append(stream, keyed("a"), lease_seconds=5).deduped == 1
    assert service.describe(stream) == ended


def test_s29_a_producer_is_lost_once_whoever_sweeps_at_the_same_time(place: Place) -> None:
    service, clock = clocked(place)
    sweepers = [place.service(around=lambda database: clock_of(clock, database)) for _ in range(3)]
    for _ in range(3):
        stream, barrier = place.stream(), threading.Barrier(3)
        service.append(stream, keyed("a"), lease_seconds=5)
        clock.now += 5 * SECOND
        for sweeper in sweepers:
            sweeper._database.now = clock.now  # type: ignore[attr-defined]

        def lost(sweeper: EmbeddedService, barrier: threading.Barrier = barrier) -> int:
            barrier.wait()
            return sweeper.sweep().lost_producers

        at_once = [Background(lambda one=one: lost(one)) for one in sweepers]  # type: ignore[misc]
        assert sum(one.result() for one in at_once) == 1
        assert service.describe(stream).error_reason == "producer lost"


def test_a_producer_that_says_nothing_of_a_lease_is_waited_for_as_long_as_before(place: Place) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    service.append(stream, items("a"))
    clock.now += 10**15
    assert service.sweep().lost_producers == 0
    service.append(stream, items("b"), lease_seconds=5)
    service.append(stream, items("c"))
    clock.now += 5 * SECOND
    assert service.sweep().lost_producers == 1


def expired(service: EmbeddedService, place: Place, lengths: Sequence[int], clock: Clock) -> list[StreamRef]:
    """Return streams that have so many items, and have expired in this order."""
    streams = [place.stream() for _ in lengths]
    for stream, length in zip(streams, lengths, strict=True):
        for first in range(0, length, 500):
            service.append(stream, items(range(first, min(length, first + 500))))
        service.end(stream, retention_seconds=1)
        clock.now += SECOND
    return streams


def test_passes_take_the_oldest_first_within_their_budget_and_later_ones_go_on(place: Place) -> None:
    service, clock = clocked(place, WorkflowSettings(sweep_items=700))
    streams = expired(service, place, [600, 3, 600, 1], clock)
    kept = place.stream()
    service.append(kept, items("abc"))
    left = []
    swept = []
    while True:
        result = service.sweep()
        swept.append((result.streams, result.items, result.done))
        rows = dict(place.execute("SELECT stream, count(*) FROM {workflow_items} GROUP BY stream"))
        left.append([rows.get(number_of(place, stream), 0) for stream in streams])
        assert result.items <= 700
        if result.done:
            break
    assert left == [[0, 0, 503, 1], [0, 0, 0, 0]]
    assert swept == [(2, 700, False), (2, 504, True)]
    assert payloads(service, kept) == ["a", "b", "c"]


def test_a_budget_of_transactions_is_kept_too(place: Place) -> None:
    service, clock = clocked(place, WorkflowSettings(sweep_transactions=4))
    expired(service, place, [1] * 6, clock)
    results = []
    while not (result := service.sweep()).done:
        results.append(result.streams)
    assert results
    assert max(results) <= 4
    assert sum(results) + result.streams == 6
    assert place.count("workflow_items") == 0


def test_what_fails_is_counted_put_off_and_in_nobodys_way(place: Place) -> None:
    service, clock = clocked(place, WorkflowSettings(retry_after=60.0))
    streams = expired(service, place, [2, 3, 4], clock)
    clock.refused = {number_of(place, streams[0]), number_of(place, streams[2])}
    result = service.sweep()
    assert (result.streams, result.items, result.failed, result.done) == (1, 3, 2, True)
    # Not found all the same.
    with pytest.raises(StreamNotFoundError):
        service.describe(streams[0])
    assert service.sweep().failed == 0
    clock.now += 60 * SECOND
    clock.refused = {number_of(place, streams[2])}
    result = service.sweep()
    assert (result.streams, result.items, result.failed) == (1, 2, 1)
    clock.refused = set()
    clock.now += 60 * SECOND
    assert service.sweep().streams == 1
    assert place.count("workflow_items") == 0


def test_ended_runs_are_removed_after_their_time_with_all_that_is_theirs(place: Place) -> None:
    service, clock = clocked(place, WorkflowSettings(run_retention=10.0, retry_after=60.0))
    gone, failing, kept = (place.stream() for _ in range(3))
    for stream in (gone, failing, kept):
        service.append(stream, items("ab"))
        service.append(stream.run.stream("other"), items("c"))
    for stream in (gone, failing):
        service.end_run(stream.run)
    clock.now += 10 * SECOND - 1
    assert service.sweep().runs == 0
    clock.now += 1
    clock.refused = {number_of(place, failing)}
    result = service.sweep()
    assert (result.runs, result.failed) == (1, 1)
    with pytest.raises(RunNotFoundError):
        service.describe(gone)
    # Every row of the one that failed is there.
    assert payloads(service, failing) == ["a", "b"]
    assert payloads(service, failing.run.stream("other")) == ["c"]
    assert (place.count("workflow_runs"), place.count("workflow_streams")) == (2, 4)
    clock.refused = set()
    assert service.sweep().runs == 0
    clock.now += 60 * SECOND
    assert service.sweep().runs == 1
    assert (place.count("workflow_runs"), place.count("workflow_items")) == (1, 3)
    assert payloads(service, kept) == ["a", "b"]


def test_runs_are_kept_for_ever_where_nothing_is_said_and_their_streams_expire_all_the_same(place: Place) -> None:
    service, clock = clocked(place)
    (stream,) = expired(service, place, [3], clock)
    service.end_run(stream.run)
    clock.now += 10**15
    result = service.sweep()
    assert (result.runs, result.streams) == (0, 1)
    assert service.describe_run(stream.run).ended_at is not None


def test_s25_a_poll_that_is_parked_while_others_append_and_sweep_skips_nothing(place: Place) -> None:
    service, clock = clocked(place)
    stream = place.stream()
    service.append(stream, items("A"))
    with service.topic(stream).subscribe_from_tail() as parked:
        other = place.service(around=lambda database: clock_of(clock, database))
        other.append(stream, items("B"))
        other.sweep()
        other.append(stream, items("C"))
        assert [record.payload for record in take(parked, 2)] == [b'"B"', b'"C"']
    assert payloads(service, stream, 1) == ["B", "C"]


def clock_of(clock: Clock, database: Database) -> Clock:
    """Return another one that shows the same."""
    other = Clock(database)
    other.now = clock.now
    return other
