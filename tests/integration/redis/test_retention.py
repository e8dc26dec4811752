"""Limits that appends keep, exactly or to within a declared part, and sweeps for what appends do not reach."""

import time
from typing import Any

import pytest
import redis
from tests.integration.redis.conftest import OpenStore
from tests.integration.redis.steps import append, bounds, numbered, payloads, read

from tailrace import spi
from tailrace.backends.redis.keys import TopicKeys
from tailrace.backends.redis.maintenance import Upkeep
from tailrace.retention import Retention


def kept(store: spi.Backend, topic: str = "t") -> list[bytes]:
    """Return every retained payload."""
    found: list[bytes] = []
    after: spi.Place = bounds(store, topic).beginning
    while True:
        page = read(store, topic, after)
        found += payloads(page)
        assert isinstance(page, spi.Page)
        after = page.end
        if not page.more:
            return found


def test_a_small_count_is_kept_exactly_and_bytes_are_counted(open_store: OpenStore) -> None:
    store = open_store(retention=Retention(max_records=3))
    for payload in numbered(20):
        end = append(store, "t", payload)
        (info,) = store.topics()
        assert (info.records, info.bytes) == (min(3, end.position), sum(map(len, kept(store))))
    assert kept(store) == numbered(3, 17)


def test_a_large_count_is_passed_by_a_sixteenth_at_most_and_cut_to_the_limit(open_store: OpenStore) -> None:
    store = open_store(retention=Retention(max_records=320))
    seen = set()
    for payload in numbered(700):
        append(store, "t", payload)
        at = bounds(store, "t")
        seen.add(at.tail.position - at.beginning.position)
    assert max(seen) == 340
    assert 320 in seen


def test_bytes_are_kept(open_store: OpenStore) -> None:
    store = open_store(retention=Retention(max_bytes=1000))
    for number in range(50):
        append(store, "t", b"%0100d" % number)
        (info,) = store.topics()
        assert info.bytes <= 1062
    assert len(kept(store)) in (10, 11)


def test_a_batch_over_the_limit_is_cut_as_well_and_nothing_may_be_left(open_store: OpenStore) -> None:
    store = open_store(retention=Retention(max_records=2))
    append(store, "t", *numbered(1000))
    assert kept(store) == numbered(2, 998)
    none = open_store(retention=Retention(max_records=0))
    end = append(none, "t", b"x")
    assert kept(none) == []
    assert bounds(none, "t").beginning == bounds(none, "t").tail == end
    (info,) = none.topics()
    assert (info.records, info.bytes) == (0, 0)


def test_a_lowered_limit_is_reached_in_steps(open_store: OpenStore) -> None:
    wide = open_store()
    for _ in range(5):
        append(wide, "t", *[b"x"] * 1000)
    narrow = open_store(retention=Retention(max_records=10))
    left = []
    for _ in range(6):
        append(narrow, "t", b"x")
        at = bounds(narrow, "t")
        left.append(at.tail.position - at.beginning.position)
    assert left[-1] == 10
    # One append does not do all of it: others wait for it.
    assert left[0] > 3000


def test_age_is_kept_by_appends(open_store: OpenStore) -> None:
    store = open_store(retention=Retention(max_age=0.05), append_timeout=0.5)
    place = append(store, "t", b"old")
    time.sleep(0.7)
    append(store, "t", b"new")
    assert kept(store) == [b"new"]
    # Whoever has read it all goes on.
    assert payloads(read(store, "t", place)) == [b"new"]


def test_age_without_appends_is_kept_by_sweeps(open_store: OpenStore) -> None:
    store = open_store(retention=Retention(max_age=0.05), append_timeout=0.5)
    append(store, "t", *numbered(5))
    time.sleep(0.7)
    assert kept(store) == numbered(5)
    report = store.sweep(spi.SweepBudget())
    assert (report.records, report.bytes, report.done) == (5, 5, True)
    assert kept(store) == []


def test_a_reader_at_the_horizon_goes_on_and_one_before_it_is_told(open_store: OpenStore) -> None:
    store = open_store()
    places = [append(store, "t", payload) for payload in numbered(10)]
    assert store.trim("t", Retention(max_records=4)) == 6
    assert bounds(store, "t").beginning == places[5]
    assert payloads(read(store, "t", places[5])) == numbered(4, 6)
    assert isinstance(read(store, "t", places[4]), spi.PositionLost)
    # Of the same position in another history.
    other = spi.Boundary(places[5].incarnation, places[5].position, places[5].tag ^ 1)
    assert isinstance(read(store, "t", other), spi.PositionLost)


def test_large_payloads_are_trimmed_as_well(open_store: OpenStore) -> None:
    store = open_store()
    for _ in range(8):
        append(store, "t", b"x" * 2**20)
    assert store.trim("t", Retention(max_bytes=3 * 2**20)) == 5
    (info,) = store.topics()
    assert (info.records, info.bytes) == (3, 3 * 2**20)


def test_the_clock_of_the_server_may_go_back(open_store: OpenStore, raw: "redis.Redis", keys: TopicKeys) -> None:
    store = open_store()
    first = append(store, "t", b"a")
    # As if the first append had been an hour from now.
    ((entry, _),) = raw.xrange(keys.stream)
    later = int(entry.partition(b"-")[2]) + 3_600_000 * 10**7
    raw.xadd(keys.stream, {"p": b"b"}, id=f"2-{later}")
    raw.hset(keys.identity, mapping={"n": 2, "l": later})
    append(store, "t", b"c")
    assert payloads(read(store, "t", first)) == [b"b", b"c"]
    lows = [int(entry.partition(b"-")[2]) // 10**7 for entry, _ in raw.xrange(keys.stream)]
    assert lows == sorted(lows)


def test_topics_are_listed_in_byte_order_page_by_page(open_store: OpenStore) -> None:
    store = open_store()
    names = ["z", "a", "é", "a{b}", "%7D", "}", "a}", "A", "*", "a?", "[x]", "\\", " ", "run:42", "run:7"]
    for name in names:
        append(store, name, b"x")
    store.seal("sealed", "why")
    names.append("sealed")
    store.delete("z")
    names.remove("z")
    names.sort(key=str.encode)

    assert [info.name for info in store.topics()] == names
    listed: list[str] = []
    while page := store.topics(after=listed[-1] if listed else "", limit=4):
        listed += [info.name for info in page]
    assert listed == names
    for start in ("run:", "a", "*", "[", "\\", "}", "é"):
        assert [info.name for info in store.topics(prefix=start)] == [name for name in names if name.startswith(start)]
    (sealed,) = store.topics(prefix="sealed")
    assert (sealed.seal, sealed.records, sealed.last_append_at) == (spi.Seal("why"), 0, None)


def test_a_sweep_goes_on_where_the_last_one_ended_and_forgets_what_is_idle(open_store: OpenStore) -> None:
    store = open_store()
    for number in range(40):
        append(store, f"t{number}", *numbered(10))
    sweeping = open_store(retention=Retention(max_records=0), forget_after=0.001, append_timeout=1.0)
    removed, rounds = 0, 0
    while True:
        rounds += 1
        report = sweeping.sweep(spi.SweepBudget(max_records=90, chunk_records=7))
        removed += report.records
        assert report.records <= 90
        if report.done:
            break
    assert removed == 400
    assert rounds >= 5
    time.sleep(0.01)
    assert sweeping.sweep(spi.SweepBudget()).done
    assert store.topics() == []


def test_a_sealed_topic_is_never_forgotten(open_store: OpenStore) -> None:
    store = open_store(retention=Retention(max_records=0), forget_after=0.001)
    append(store, "t", b"x")
    store.seal("t", None)
    time.sleep(0.01)
    assert store.sweep(spi.SweepBudget()).forgotten == 0
    assert bounds(store, "t").seal == spi.Seal(None)


def test_a_tombstone_does_not_outlive_its_time_nor_end_a_topic_that_was_born_on_it(
    open_store: OpenStore, raw: "redis.Redis", keys: TopicKeys
) -> None:
    store = open_store(tombstone_for=0.1)
    append(store, "t", b"x")
    store.delete("t")
    assert 0 < raw.pttl(keys.identity) <= 100
    append(store, "t", b"y")
    assert raw.ttl(keys.identity) == -1
    store.delete("t")
    time.sleep(0.2)
    assert raw.exists(keys.identity) == 0


def test_a_sweep_in_the_middle_of_another_skips_nothing(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(retention=Retention(max_records=1))
    for number in range(20):
        append(open_store(), f"t{number}", *numbered(3))
    cut, reports = Upkeep.cut, []

    def interrupting(self: Upkeep, topic: str, *arguments: Any) -> tuple[int, int, bool]:
        monkeypatch.setattr(Upkeep, "cut", cut)
        reports.append(store.sweep(spi.SweepBudget(max_records=5, chunk_records=2)))
        return cut(self, topic, *arguments)

    monkeypatch.setattr(Upkeep, "cut", interrupting)
    reports.append(store.sweep(spi.SweepBudget()))
    assert [(report.done, report.records) for report in reports] == [(False, 5), (True, 35)]
    assert [info.records for info in store.topics()] == [1] * 20


def test_a_sweep_passes_a_key_of_somebody_else(open_store: OpenStore, raw: "redis.Redis", prefix: str) -> None:
    store = open_store(retention=Retention(max_records=1))
    append(open_store(), "good", *numbered(3))
    raw.set(f"{prefix}:{{bad}}:i", "somebody's")
    raw.hset(f"{prefix}:{{worse}}:i", mapping={"i": "x"})
    report = store.sweep(spi.SweepBudget())
    assert (report.records, report.done) == (2, True)


@pytest.mark.parametrize("error", [None, "broken", "ü" * 500])
def test_the_first_seal_stands(open_store: OpenStore, error: str | None) -> None:
    store = open_store()
    store.seal("t", error)
    store.seal("t", "another")
    assert bounds(store, "t").seal == spi.Seal(error)
