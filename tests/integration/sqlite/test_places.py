"""Places hold, or are told to be lost, exactly."""

import shutil
from pathlib import Path

import pytest
from tests.integration.sqlite.steps import OpenStore, beginning, look, other_program, payloads, put, try_put

from tailrace.backends.sqlite import SqliteStore
from tailrace.errors import TopicSealedError
from tailrace.retention import Retention
from tailrace.spi import Appended, AppendRefused, Boundary, Bounds, Entry, Page, PositionLost, Seal, SweepBudget, Unborn


def test_a_record_is_readable_through_every_handle_once_it_is_acknowledged(
    store: SqliteStore, open_store: OpenStore
) -> None:
    end = put(store, "t", b"a", b"", b"\0\xff")
    other = open_store()
    assert payloads(other, "t", beginning(other, "t")) == [b"a", b"", b"\0\xff"]
    assert other.bounds("t") == Bounds(Boundary(end.incarnation, 0, 0), end)


def test_an_unborn_place_delivers_the_first_record_of_whoever_creates_the_topic(store: SqliteStore) -> None:
    place = store.bounds("t")
    assert isinstance(place, Unborn)
    assert look(store, "t", place) == Page((), place)
    put(store, "t", b"first")
    assert payloads(store, "t", place) == [b"first"]


def test_an_unborn_place_is_lost_when_a_whole_life_came_and_went(store: SqliteStore) -> None:
    place = store.bounds("t")
    put(store, "t", b"gone")
    store.delete("t")
    assert isinstance(look(store, "t", place), PositionLost)
    assert isinstance(look(store, "t", store.bounds("t")), Page)
    put(store, "t", b"second life")
    assert isinstance(look(store, "t", place), PositionLost)


def test_an_unborn_place_survives_the_end_of_the_grave_that_it_knew(store: SqliteStore, path: Path) -> None:
    put(store, "t", b"gone")
    store.delete("t")
    place = store.bounds("t")
    with other_program(path) as theirs:
        theirs.execute("DELETE FROM tombstones")
    assert isinstance(look(store, "t", place), Page)


def test_an_unborn_place_older_than_tombstones_are_kept_is_lost(open_store: OpenStore) -> None:
    store = open_store(tombstone_for=10.0)
    place = store.bounds("t")
    assert isinstance(place, Unborn)
    old = Unborn(place.seen_at - 11_000_000, 0)
    assert isinstance(look(store, "t", old), PositionLost)
    assert isinstance(look(store, "t", Unborn(place.seen_at - 9_000_000, 0)), Page)


def test_a_place_of_another_life_is_lost_however_alike_they_are(store: SqliteStore) -> None:
    end = put(store, "t", b"a")
    store.delete("t")
    assert isinstance(look(store, "t", end), PositionLost)
    put(store, "t", b"a")
    assert isinstance(look(store, "t", end), PositionLost)


def test_a_place_beyond_the_tail_is_lost(store: SqliteStore) -> None:
    end = put(store, "t", b"a")
    assert isinstance(look(store, "t", Boundary(end.incarnation, 2, end.tag)), PositionLost)


def test_a_place_of_a_history_that_a_backup_undid_is_lost(open_store: OpenStore, path: Path, tmp_path: Path) -> None:
    store = open_store()
    kept = [put(store, "t", b"%d" % n) for n in range(5)][-1]
    store.close()
    shutil.copy(path, tmp_path / "backup.db")
    store = open_store()
    undone = [put(store, "t", b"%d" % n) for n in range(5)]
    # Put back under the open store, by renaming, as a careful operator would.
    (tmp_path / "backup.db").rename(path)
    for side in ("-wal", "-shm", "-gate"):
        Path(f"{path}{side}").unlink()
    for n in range(4):
        put(store, "t", b"other %d" % n)
    assert payloads(store, "t", kept) == [b"other 0", b"other 1", b"other 2", b"other 3"]
    for place in undone:
        assert isinstance(look(store, "t", place), PositionLost)


def test_trimming_loses_exactly_the_places_before_the_horizon(store: SqliteStore) -> None:
    places = [put(store, "t", b"%d" % n) for n in range(10)]
    assert store.trim("t", Retention(max_records=3)) == 7
    for place in places[:6]:
        assert isinstance(look(store, "t", place), PositionLost)
    assert payloads(store, "t", places[6]) == [b"7", b"8", b"9"]
    assert payloads(store, "t", beginning(store, "t")) == [b"7", b"8", b"9"]
    assert store.trim("t", Retention(max_records=0)) == 3
    assert look(store, "t", places[9]) == Page((), places[9])
    assert isinstance(look(store, "t", places[8]), PositionLost)
    assert store.bounds("t") == Bounds(places[9], places[9])


def test_no_records_wanted_only_checks_the_place(store: SqliteStore) -> None:
    first = put(store, "t", b"a")
    put(store, "t", b"b")
    assert look(store, "t", first, max_records=0) == Page((), first, more=True)
    wrong = Boundary(first.incarnation, 1, first.tag ^ 1)
    assert isinstance(look(store, "t", wrong, max_records=0), PositionLost)


@pytest.mark.parametrize("max_bytes", [1, 5, 25, 100, 1000])
def test_a_page_ends_before_the_bytes_run_over_but_never_without_a_record(store: SqliteStore, max_bytes: int) -> None:
    sizes = [10, 3, 0, 50, 1, 1, 1, 200, 7]
    put(store, "t", *[b"x" * size for size in sizes])
    after, got = beginning(store, "t"), []
    while len(got) < len(sizes):
        page = look(store, "t", after, max_bytes=max_bytes)
        assert isinstance(page, Page)
        found = [len(payload) for _, _, payload in page.records]
        assert found
        assert sum(found) <= max_bytes or len(found) == 1
        rest = sizes[len(got) + len(found) :]
        assert not rest or sum(found) + rest[0] > max_bytes or sum(found) >= max_bytes
        assert page.more == bool(rest)
        got += found
        after = page.end
    assert got == sizes


def test_one_call_appends_to_many_topics_and_keeps_each_ones_order(store: SqliteStore) -> None:
    entries = [Entry("a", [b"1", b"2"]), Entry("b", [b"x"]), Entry("a", [b"3"])]
    outcomes = store.append(entries, 5.0)
    ends = [outcome.end.position for outcome in outcomes if isinstance(outcome, Appended)]
    assert ends == [2, 1, 3]
    assert payloads(store, "a", beginning(store, "a")) == [b"1", b"2", b"3"]


def test_a_sealed_topic_refuses_its_own_entries_only(store: SqliteStore) -> None:
    put(store, "sealed", b"kept")
    store.seal("sealed", "why")
    store.seal("sealed", "another reason")
    refused, appended = store.append([Entry("sealed", [b"x"]), Entry("open", [b"y"])], 5.0)
    assert isinstance(refused, AppendRefused)
    assert isinstance(refused.error, TopicSealedError)
    assert isinstance(appended, Appended)
    page = look(store, "sealed", beginning(store, "sealed"))
    assert isinstance(page, Page)
    assert page.seal == Seal("why")
    assert [payload for _, _, payload in page.records] == [b"kept"]


def test_sealing_creates_a_topic_and_retention_does_not_undo_it(open_store: OpenStore) -> None:
    store = open_store(forget_after=0.001)
    store.seal("t", None)
    store.sweep(SweepBudget())
    assert isinstance(try_put(store, "t", b"x"), AppendRefused)


def test_names_are_compared_byte_for_byte(store: SqliteStore) -> None:
    names = ["a", "A", "a ", "\u00e5", "a\u030a", "a\n", "%", "\u65e5\u672c", "a" * 512]
    for name in names:
        put(store, name, name.encode())
    for name in names:
        assert payloads(store, name, beginning(store, name)) == [name.encode()]
    assert [info.name for info in store.topics()] == sorted(names, key=str.encode)
