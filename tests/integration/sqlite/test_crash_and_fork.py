"""Processes that die, multiply and crowd: nothing acknowledged is lost, nothing is stored twice, one order for all."""

import random
import sqlite3
import threading
from pathlib import Path

import pytest
from tests.forks.children import child, ended_well
from tests.integration.sqlite.processes import go, lines, start
from tests.integration.sqlite.steps import OpenStore, beginning, payloads, put

from tailrace.backends.sqlite import SqliteStore, connections
from tailrace.backends.sqlite.location import Location
from tailrace.testing.servers.waiting import until


def open_files() -> list[str]:
    """Return what this process has open."""
    return [str(fd.readlink()) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]


def inotify_descriptors() -> int:
    """Return how many of them are waits for changes of files."""
    return sum("inotify" in name for name in open_files())


def _assert(holds: bool) -> None:
    assert holds


def acknowledged(printed: list[str]) -> list[bytes]:
    """Return the payloads of the lines that say so."""
    assert all(line.startswith("ok ") for line in printed), [line for line in printed if not line.startswith("ok ")][:3]
    return [line.split()[1].encode() for line in printed]


def crash_rounds(open_store: OpenStore, path: Path, rounds: int) -> None:
    """Kill an appending process again and again under the eyes of two readers."""
    store = open_store()
    readers = [start("follow", path, "t") for _ in range(2)]
    go(*readers)
    seen = [collect(reader) for reader in readers]
    known: list[bytes] = []
    for number in range(rounds):
        writer = start("append", path, "t", f"round{number}", 4, 0)
        printed = collect(writer)
        go(writer)
        enough = 20 + random.randrange(40)
        until(lambda printed=printed, enough=enough: len(printed.lines) >= enough, "it appends", step=0.001)  # type: ignore[misc]
        writer.kill()
        writer.wait(60)
        known += acknowledged(printed.finish())
    put(store, "t", b"end")
    orders = [reader.finish() for reader in seen]
    stored = [payload.decode() for payload in payloads(store, "t", beginning(store, "t"))]
    assert orders == [stored, stored]
    assert len(stored) == len(set(stored))
    assert {payload.decode() for payload in known} <= set(stored)


class collect:  # noqa: N801 - reads as a verb
    """The lines of a process, as they come."""

    def __init__(self, process) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        self.lines: list[str] = []
        self._process = process
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))

    def finish(self) -> list[str]:
        """Wait for the end."""
        self._thread.join(60)
        assert not self._thread.is_alive()
        self._process.wait(60)
        self._process.stdin.close()
        self._process.stdout.close()
        return self.lines


def test_a_killed_process_loses_no_acknowledged_record(open_store: OpenStore, path: Path) -> None:
    crash_rounds(open_store, path, 3)


@pytest.mark.long
def test_twenty_killed_processes_lose_no_acknowledged_record(open_store: OpenStore, path: Path) -> None:
    crash_rounds(open_store, path, 20)


def crowd(store: SqliteStore, path: Path, count: int) -> None:
    """Two processes and the child of one append from four threads each, under a sweeper."""
    place = store.bounds("t")
    sweeper = start("sweep", path)
    crowded = [start("append", path, "t", "other", 4, count), start("fork_and_append", path, "t", count)]
    go(sweeper, *crowded)
    other, forked = (lines(process) for process in crowded)
    assert forked.pop() == "child 0"
    go(sweeper)
    assert lines(sweeper) == []
    known = acknowledged(other) + acknowledged(forked)
    stored = payloads(store, "t", place)
    assert len(stored) == 12 * count + 1
    assert sorted(stored) == sorted(known)
    assert beginning(store, "t").position == 0


def test_s14_processes_threads_a_sweeper_and_a_fork_share_a_file(store: SqliteStore, path: Path) -> None:
    crowd(store, path, 40)


@pytest.mark.long
def test_s14_for_half_a_minute(store: SqliteStore, path: Path) -> None:
    crowd(store, path, 3000)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_no_connection_is_open_across_a_fork(open_store: OpenStore, path: Path) -> None:
    # The child looks: what its parent had open was closed before there was a child.
    others = inotify_descriptors()
    store = open_store()
    listener = store.watch()
    put(store, "t", b"before")

    def look() -> None:
        inherited = [name for name in open_files() if name.startswith(str(path))]
        put(store, "t", b"child")
        assert not inherited
        assert inotify_descriptors() <= others

    assert ended_well(child(look))
    listener.follow(["t"], [])
    put(store, "t", b"after")
    assert payloads(store, "t", beginning(store, "t")) == [b"before", b"child", b"after"]
    assert listener.wait(5.0).topics == {"t"}


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_waits_for_a_read_in_another_thread_and_does_not_break_it(open_store: OpenStore) -> None:
    store = open_store()
    put(store, "t", b"x")
    inside, leave = threading.Event(), threading.Event()
    results: list[object] = []

    def slow(connection: object) -> str:
        inside.set()
        assert leave.wait(60)
        return "read"

    reader = threading.Thread(target=lambda: results.append(store._session().read(slow)))
    reader.start()
    assert inside.wait(60)
    threading.Timer(0.1, leave.set).start()
    waited_for = ended_well(child(lambda: _assert(leave.is_set())))
    reader.join(60)
    assert waited_for
    assert results == ["read"]


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_waits_for_a_connection_that_is_being_opened(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    opening, leave = threading.Event(), threading.Event()
    open_reader = connections._OPEN["reader"]

    def slowly(location: Location) -> sqlite3.Connection:
        opening.set()
        assert leave.wait(60)
        return open_reader(location)

    monkeypatch.setitem(connections._OPEN, "reader", slowly)
    reader = threading.Thread(target=store.bounds, args=("t",))
    reader.start()
    assert opening.wait(60)
    threading.Timer(0.1, leave.set).start()
    waited_for = ended_well(child(lambda: _assert(leave.is_set())))
    reader.join(60)
    assert waited_for


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_no_store_is_opened_while_a_fork_is_under_way(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its connection would be half open in the child, with locks of SQLite's own that nobody there gives back.
    # For longer than anybody here waits.
    monkeypatch.setattr(connections, "FORK_SECONDS", 120.0)
    store = open_store()
    files = store._session().connections
    inside, leave = threading.Event(), threading.Event()
    opened: list[int] = []

    def slow(_: object) -> None:
        inside.set()
        assert leave.wait(60)

    def meanwhile() -> None:
        assert inside.wait(60)
        until(lambda: files._forks > 0, "a fork is under way", step=0.001)
        opening = threading.Thread(target=lambda: opened.append(id(open_store())))
        opening.start()
        opening.join(0.2)
        held_up.append(opening.is_alive())
        leave.set()
        opening.join(10)

    held_up: list[bool] = []
    threads = [threading.Thread(target=lambda: store._session().read(slow)), threading.Thread(target=meanwhile)]
    for thread in threads:
        thread.start()
    assert inside.wait(60)
    none_was_opened = ended_well(child(lambda: _assert(not opened)))
    for thread in threads:
        thread.join(60)
    assert none_was_opened
    assert held_up == [True]
    assert len(opened) == 1
