"""Operations: listing, trimming, deleting, sweeping."""

import time
from pathlib import Path

import pytest
from tests.integration.sqlite.steps import OpenStore, beginning, look, other_program, payloads, put

from tailrace.backends.sqlite import SqliteStore, reading
from tailrace.retention import Retention
from tailrace.spi import Bounds, Page, PositionLost, Seal, SweepBudget, Unborn


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> "Clock":
    """A clock that the test moves."""
    clock = Clock()
    monkeypatch.setattr(reading.time, "time_ns", lambda: int(clock.now * 1e9))
    monkeypatch.setattr(time, "time", lambda: clock.now)
    return clock


class Clock:
    """Seconds since the epoch."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0


def count(path: Path, table: str) -> int:
    """Count rows as another program would."""
    with other_program(path) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_topics_are_listed_in_byte_order_by_prefix_and_page(store: SqliteStore) -> None:
    for name in ["b", "a", "a:1", "a:2", "a;", "\U0010ffff", "\uffff"]:
        put(store, name, b"12")
    store.seal("a", "why")
    assert [info.name for info in store.topics()] == ["a", "a:1", "a:2", "a;", "b", "\uffff", "\U0010ffff"]
    assert [info.name for info in store.topics(prefix="a:")] == ["a:1", "a:2"]
    assert [info.name for info in store.topics(prefix="\U0010ffff")] == ["\U0010ffff"]
    assert [info.name for info in store.topics(after="a:1", limit=2)] == ["a:2", "a;"]
    (info,) = store.topics(limit=1)
    assert (info.records, info.bytes, info.seal) == (1, 2, Seal("why"))
    assert info.last_append_at == pytest.approx(time.time(), abs=60)


def test_trimming_by_age_leaves_the_longest_append_of_grace(open_store: OpenStore, clock: Clock) -> None:
    store = open_store(append_timeout=10.0)
    put(store, "t", b"old")
    clock.now += 65
    put(store, "t", b"new")
    assert store.trim("t", Retention(max_age=60)) == 0
    clock.now += 5.1
    assert store.trim("t", Retention(max_age=60)) == 1
    assert payloads(store, "t", beginning(store, "t")) == [b"new"]


def test_a_long_trim_is_done_in_full(store: SqliteStore) -> None:
    put(store, "t", *[b"x"] * 1234)
    assert store.trim("t", Retention(max_bytes=10)) == 1224
    (info,) = store.topics()
    assert (info.records, info.bytes) == (10, 10)
    assert store.trim("missing", Retention(max_records=0)) == 0


@pytest.mark.parametrize("limit", [Retention(max_records=100), Retention(max_bytes=100)])
def test_appending_keeps_count_and_size_within_a_sixteenth(open_store: OpenStore, limit: Retention) -> None:
    store = open_store(retention=limit)
    for _ in range(150):
        put(store, "t", b"x")
        (info,) = store.topics()
        assert info.records <= 106
    put(store, "t", *[b"y"] * 300)
    assert payloads(store, "t", beginning(store, "t")) == [b"y"] * 100


def test_small_limits_are_kept_exactly(open_store: OpenStore) -> None:
    store = open_store(retention=Retention(max_records=3))
    for n in range(10):
        put(store, "t", b"%d" % n)
    assert payloads(store, "t", beginning(store, "t")) == [b"7", b"8", b"9"]


def test_a_deleted_topic_is_gone_at_once_and_whole(store: SqliteStore, path: Path) -> None:
    end = put(store, "t", *[b"x"] * 1200)
    assert store.delete("t")
    assert not store.delete("t")
    assert isinstance(look(store, "t", end), PositionLost)
    assert store.bounds("t") == Unborn(pytest.approx(time.time() * 1e6, abs=60e6), end.incarnation)
    assert store.topics() == []
    assert count(path, "records") == count(path, "remains") == 0


def test_what_a_delete_left_when_it_died_is_reclaimed_by_a_sweep_and_never_read(store: SqliteStore, path: Path) -> None:
    put(store, "t", *[b"old"] * 1200)
    with other_program(path) as died_after_its_first_transaction:
        died_after_its_first_transaction.execute("INSERT INTO remains SELECT id FROM topics")
        died_after_its_first_transaction.execute("DELETE FROM topics")
    put(store, "t", b"new")
    assert payloads(store, "t", beginning(store, "t")) == [b"new"]
    assert not store.sweep(SweepBudget(max_records=700)).done
    assert count(path, "records") == 501
    assert store.sweep(SweepBudget()).done
    assert (count(path, "records"), count(path, "remains")) == (1, 0)
    assert payloads(store, "t", beginning(store, "t")) == [b"new"]


def test_sweeps_end_at_their_budget_and_later_ones_finish_the_work(open_store: OpenStore, clock: Clock) -> None:
    store = open_store(retention=Retention(max_age=60))
    for n in range(7):
        put(store, f"t{n}", *[b"x"] * 10)
    clock.now += 71
    put(store, "t0", b"young")
    reports = []
    while not reports or not reports[-1].done:
        reports.append(store.sweep(SweepBudget(max_records=25, chunk_records=4)))
        assert reports[-1].records <= 25
        assert len(reports) <= 3, reports
    assert [report.records for report in reports] == [25, 25, 20]
    assert sum(report.bytes for report in reports) == 70
    assert [info.records for info in store.topics()] == [1, 0, 0, 0, 0, 0, 0]


def test_a_topic_larger_than_the_budget_does_not_keep_others_from_their_turn(
    open_store: OpenStore, clock: Clock
) -> None:
    store = open_store(retention=Retention(max_age=60))
    put(store, "a-large", *[b"x"] * 100)
    clock.now += 1
    put(store, "small", b"x")
    clock.now += 71
    store.sweep(SweepBudget(max_records=10))
    store.sweep(SweepBudget(max_records=10))
    assert [info.records for info in store.topics() if info.name == "small"] == [0]


def test_a_limit_that_was_lowered_is_swept_on_topics_without_appends(open_store: OpenStore) -> None:
    before = open_store()
    put(before, "t", *[b"x"] * 20)
    put(before, "u", *[b"x"] * 3)
    store = open_store(retention=Retention(max_records=5))
    report = store.sweep(SweepBudget())
    assert (report.records, report.topics, report.done) == (15, 1, True)
    assert [info.records for info in store.topics()] == [5, 3]


def test_a_topic_that_fails_is_passed_and_told(open_store: OpenStore, clock: Clock, path: Path) -> None:
    store = open_store(retention=Retention(max_age=60))
    put(store, "fails", b"x")
    put(store, "works", b"x")
    with other_program(path) as connection:
        connection.execute(
            "CREATE TRIGGER fails BEFORE DELETE ON records WHEN old.topic_id = 1 "
            "BEGIN SELECT raise(FAIL, 'no such table: x'); END"
        )
    clock.now += 71
    report = store.sweep(SweepBudget())
    assert (report.topics, report.records, report.done) == (1, 1, False)
    assert [info.records for info in store.topics()] == [1, 0]


def test_an_emptied_idle_topic_is_forgotten_and_remembered_as_a_grave(open_store: OpenStore, clock: Clock) -> None:
    store = open_store(forget_after=100.0)
    end = put(store, "idle", b"x")
    put(store, "full", b"x")
    store.trim("idle", Retention(max_records=0))
    clock.now += 99
    assert store.sweep(SweepBudget()).forgotten == 0
    clock.now += 2
    assert store.sweep(SweepBudget()).forgotten == 1
    assert isinstance(look(store, "idle", end), PositionLost)
    assert isinstance(store.bounds("full"), Bounds)


def test_graves_expire(open_store: OpenStore, clock: Clock, path: Path) -> None:
    store = open_store(tombstone_for=100.0)
    put(store, "t", b"x")
    store.delete("t")
    clock.now += 99
    store.sweep(SweepBudget())
    assert count(path, "tombstones") == 1
    clock.now += 2
    store.sweep(SweepBudget())
    assert count(path, "tombstones") == 0


def test_a_reader_at_the_horizon_goes_on_while_the_topic_is_swept(open_store: OpenStore, clock: Clock) -> None:
    store = open_store(retention=Retention(max_age=60))
    end = put(store, "t", b"x")
    clock.now += 71
    store.sweep(SweepBudget())
    put(store, "t", b"y")
    page = look(store, "t", end)
    assert isinstance(page, Page)
    assert [payload for _, _, payload in page.records] == [b"y"]


@pytest.mark.parametrize(
    "for_ever",
    [Retention(max_age=1e300), Retention(max_age=10**30), Retention(max_records=2**70), Retention(max_bytes=2**64)],
)
def test_limits_beyond_any_number_of_the_store_keep_everything(open_store: OpenStore, for_ever: Retention) -> None:
    store = open_store(retention=for_ever)
    put(store, "t", b"1", b"2")

    assert store.sweep(SweepBudget(max_records=2**70, chunk_records=2**70)).done
    assert store.trim("t", for_ever) == 0
    assert [info.records for info in store.topics(limit=2**70)] == [2]
