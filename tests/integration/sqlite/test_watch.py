"""Hints: who is woken, by what, and what is found without."""

import threading
import time
from pathlib import Path

import pytest
from tests.integration.sqlite.processes import go, lines, start
from tests.integration.sqlite.steps import OpenStore, other_program, put

from tailrace.backends.sqlite import SqliteStore, watch
from tailrace.backends.sqlite.bell import AT_ONCE, SLOTS
from tailrace.errors import DurableStreamUnavailableError
from tailrace.retention import Retention
from tailrace.spi import Changes, Entry

NOTHING = Changes()


def open_descriptors() -> set[str]:
    """Return the numbers that this process has open."""
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def test_an_append_of_another_process_names_its_topic(store: SqliteStore, path: Path) -> None:
    listener = store.watch()
    listener.follow(["followed"], [])
    writer = start("append_once", path, "followed", "x")
    assert listener.wait(0) == NOTHING
    go(writer)
    assert listener.wait(10.0) == Changes(frozenset({"followed"}))
    assert lines(writer) == ["True"]
    assert listener.wait(0) == NOTHING


def test_topics_that_are_not_followed_are_not_named(store: SqliteStore, open_store: OpenStore) -> None:
    listener = store.watch()
    listener.follow(["a", "b"], [])
    put(open_store(), "other", b"x")
    assert listener.wait(0) == NOTHING
    listener.follow([], ["a"])
    put(store, "a", b"x")
    assert listener.wait(0) == NOTHING
    put(store, "b", b"x")
    assert listener.wait(5.0) == Changes(frozenset({"b"}))


@pytest.mark.parametrize("change", ["trim", "delete", "seal"])
def test_other_changes_ring_too(store: SqliteStore, open_store: OpenStore, change: str) -> None:
    put(store, "t", b"x")
    listener = store.watch()
    listener.follow(["t"], [])
    other = open_store()
    if change == "trim":
        other.trim("t", Retention(max_records=0))
    elif change == "delete":
        other.delete("t")
    else:
        other.seal("t", None)
    assert "t" in listener.wait(5.0).topics


def test_a_listener_that_fell_too_far_behind_is_told_to_look_everywhere(store: SqliteStore) -> None:
    listener = store.watch()
    listener.follow(["t"], [])
    for _ in range(SLOTS // AT_ONCE):
        store.append([Entry(f"{n}", [b"x"]) for n in range(AT_ONCE)], 5.0)
    assert listener.wait(5.0).anything
    store.append([Entry(f"{n}", [b"x"]) for n in range(AT_ONCE + 1)], 5.0)
    assert listener.wait(5.0).anything
    put(store, "t", b"x")
    assert listener.wait(5.0) == Changes(frozenset({"t"}))


def test_a_commit_that_rang_no_bell_is_found_by_the_slow_look(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "BACKSTOP", 0.05)
    put(store, "t", b"x")
    listener = store.watch()
    listener.follow(["t"], [])
    with other_program(path) as program_that_is_not_ours:
        program_that_is_not_ours.execute("UPDATE topics SET sealed = 1")
    assert listener.wait(10.0).anything
    assert listener.wait(0.2) == NOTHING


def test_an_unrung_commit_is_found_among_rung_ones(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "BACKSTOP", 0.02)
    monkeypatch.setattr(watch, "BUSY_BACKSTOP", 0.1)
    put(store, "noise", b"x")
    listener = store.watch()
    listener.follow(["t"], [])
    deadline = time.monotonic() + 10
    while not listener.wait(0.01).anything:
        put(store, "noise", b"x")
        assert time.monotonic() < deadline, "the slow look does not find it"


def test_without_the_kernels_help_the_bell_is_polled(
    store: SqliteStore, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "writes_to", lambda _: None)
    listener = store.watch()
    listener.follow(["t"], [])
    waited: list[Changes] = []
    thread = threading.Thread(target=lambda: waited.append(listener.wait(10.0)))
    thread.start()
    put(open_store(), "t", b"x")
    thread.join()
    assert waited == [Changes(frozenset({"t"}))]


def test_interrupt_ends_a_wait_or_the_next_one(store: SqliteStore) -> None:
    listener = store.watch()
    listener.interrupt()
    began = time.monotonic()
    listener.wait(30.0)
    thread = threading.Thread(target=listener.wait, args=(30.0,))
    thread.start()
    listener.interrupt()
    thread.join()
    assert time.monotonic() - began < 10.0


def test_closing_the_store_ends_a_wait_and_releases_every_descriptor(store: SqliteStore, open_store: OpenStore) -> None:
    # While one connection to a file is open, SQLite keeps the descriptors of closed ones, and uses them again.
    store.close()
    before = open_descriptors()
    other = open_store()
    listeners = [other.watch() for _ in range(3)]
    put(other, "t", b"x")
    thread = threading.Thread(target=listeners[0].wait, args=(30.0,))
    thread.start()
    other.close()
    thread.join(10.0)
    assert not thread.is_alive()
    with pytest.raises(DurableStreamUnavailableError):
        listeners[1].wait(0)
    assert open_descriptors() == before


def test_reading_and_watching_leave_no_mark(store: SqliteStore, path: Path) -> None:
    put(store, "t", b"x")
    folder = sorted(path.parent.iterdir())
    with other_program(path) as connection:
        before = list(connection.iterdump())
        listener = store.watch()
        listener.follow(["t", "missing"], [])
        store.bounds("missing")
        listener.wait(0)
        listener.close()
        assert list(connection.iterdump()) == before
    assert sorted(path.parent.iterdir()) == folder


def test_a_record_is_there_when_its_hint_comes(store: SqliteStore, open_store: OpenStore) -> None:
    listener = store.watch()
    listener.follow(["t"], [])
    other = open_store()
    for n in range(1, 50):
        writer = threading.Thread(target=put, args=(other, "t", b"x"))
        writer.start()
        assert listener.wait(10.0) == Changes(frozenset({"t"}))
        assert store.topics()[0].records == n
        writer.join()


@pytest.mark.parametrize("rung", [2**64 - 1, 2**63, 2**64 - 600])
def test_a_bell_that_counts_nonsense_fails_no_append_and_is_heard(
    store: SqliteStore, open_store: OpenStore, path: Path, rung: int
) -> None:
    put(store, "t", b"0")
    gate = Path(f"{path}-gate")
    image = bytearray(gate.read_bytes())
    image[16:24] = rung.to_bytes(8, "little")
    gate.write_bytes(image)
    watch = open_store().watch()
    watch.follow(["t"], [])

    for _ in range(3):
        put(store, "t", b"x")
        changes = watch.wait(10.0)
        assert changes.anything or changes.topics == {"t"}
    watch.close()
