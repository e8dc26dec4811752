"""One writer at a time, fair, and within the time that was given."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.integration.sqlite.processes import go, lines, start
from tests.integration.sqlite.steps import OpenStore, beginning, payloads, put, try_put

from tailrace.backends.sqlite import SqliteStore, bell
from tailrace.backends.sqlite.gatefile import NEXT_SECONDS
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Appended, AppendRefused, AppendUnknown, Entry
from tailrace.testing.servers.waiting import line_of, until


def test_a_stopped_process_inside_its_transaction_costs_others_their_timeout_and_no_more(
    store: SqliteStore, path: Path
) -> None:
    put(store, "t", b"before")
    holder = start("hold", path)
    go(holder)
    assert line_of(holder) == "holding\n"
    os.kill(holder.pid, signal.SIGSTOP)
    try:
        for _ in range(2):
            began = time.monotonic()
            refused = try_put(store, "t", b"during", timeout=0.3)
            assert 0.25 < time.monotonic() - began < 2.0
            assert isinstance(refused, AppendRefused)
            assert "another process" in str(refused.error)
        assert payloads(store, "t", beginning(store, "t")) == [b"before"]
    finally:
        os.kill(holder.pid, signal.SIGCONT)
    waiting: list[object] = []
    thread = threading.Thread(target=lambda: waiting.append(try_put(store, "t", b"after")))
    thread.start()
    go(holder)
    thread.join()
    assert lines(holder) == ["released"]
    assert isinstance(waiting[0], Appended)
    assert payloads(store, "t", beginning(store, "t")) == [b"before", b"after"]


def test_a_process_stopped_while_it_waits_its_turn_holds_nobody_up(store: SqliteStore, path: Path) -> None:
    put(store, "t", b"0")
    claim = "import fcntl, sys; f = open(sys.argv[1], 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX, 1); print(); input()"
    command = [sys.executable, "-c", claim, f"{path}-gate"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as next_one:
        assert line_of(next_one) == "\n"
        with Path(f"{path}-gate").open("r+b") as gate:
            bell.wish(gate.fileno())
        put(store, "t", b"1")

        assert isinstance(try_put(store, "t", b"2", timeout=5.0), Appended)
        for number in range(3, 6):
            began = time.monotonic()
            assert isinstance(try_put(store, "t", b"%d" % number, timeout=5.0), Appended)
            assert time.monotonic() - began < NEXT_SECONDS

        next_one.communicate("\n", timeout=60)
    assert payloads(store, "t", beginning(store, "t")) == [b"%d" % number for number in range(6)]


def test_a_dead_process_releases_the_gate_and_leaves_nothing_of_its_transaction(store: SqliteStore, path: Path) -> None:
    holder = start("hold", path)
    go(holder)
    line_of(holder)
    holder.kill()
    lines(holder)
    put(store, "t", b"x")


def test_work_that_began_behind_another_process_and_is_not_finished_in_time_is_unknown(
    store: SqliteStore, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_store()
    entered, leave, begun, finish = (threading.Event() for _ in range(4))

    def hold(connection: sqlite3.Connection) -> tuple[None, tuple[()]]:
        entered.set()
        assert leave.wait(60)
        return None, ()

    holder = threading.Thread(target=lambda: other._session().write(hold, 5.0))
    holder.start()
    assert entered.wait(60)

    from tailrace.backends.sqlite import writing

    append = writing.append

    def slow(*arguments: object) -> object:
        begun.set()
        assert finish.wait(60)
        return append(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "append", slow)
    outcomes: list[object] = []
    caller = threading.Thread(target=lambda: outcomes.append(try_put(store, "t", b"late", timeout=3.0)))
    caller.start()
    # Not before it waits behind the other: finding the gate free, it would do the work itself.
    until(lambda: bool(store._session().gate._blocked), "it waits behind the other one", step=0.001)
    leave.set()
    assert begun.wait(60)
    caller.join()
    assert isinstance(outcomes[0], AppendUnknown)
    assert outcomes[0].error.maybe_stored
    finish.set()
    holder.join()
    monkeypatch.undo()
    put(store, "t", b"next")
    assert payloads(store, "t", beginning(store, "t")) == [b"late", b"next"]


def test_an_interrupt_inside_a_transaction_stores_nothing_and_releases_the_gate(store: SqliteStore) -> None:
    def interrupted(connection: sqlite3.Connection) -> tuple[None, tuple[()]]:
        connection.execute("INSERT INTO remains VALUES (1)")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store._session().write(interrupted, 1.0)
    put(store, "t", b"x")
    assert store._session().read(lambda connection: connection.execute("SELECT * FROM remains").fetchall()) == []


def test_a_database_that_another_program_keeps_locked_refuses_within_the_timeout(
    store: SqliteStore, path: Path
) -> None:
    put(store, "t", b"x")
    intruder = sqlite3.connect(path, isolation_level=None)
    intruder.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    refused = try_put(store, "t", b"y", timeout=0.3)
    assert 0.25 < time.monotonic() - began < 2.0
    assert isinstance(refused, AppendRefused)
    assert type(refused.error) is DurableStreamUnavailableError
    intruder.execute("ROLLBACK")
    intruder.close()
    put(store, "t", b"z")
    assert payloads(store, "t", beginning(store, "t")) == [b"x", b"z"]


def test_threads_take_turns_without_a_gap_or_a_duplicate(store: SqliteStore) -> None:
    def loop(thread: int) -> None:
        for n in range(25):
            put(store, "t", b"%d.%d" % (thread, n))

    threads = [threading.Thread(target=loop, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = payloads(store, "t", beginning(store, "t"))
    assert sorted(found) == sorted(b"%d.%d" % (thread, n) for thread in range(8) for n in range(25))


def test_four_processes_get_equal_shares(store: SqliteStore, path: Path) -> None:
    writers = [start("append_for", path, f"t{n}", 2.0) for n in range(4)]
    go(*writers)
    results = [lines(writer)[0].split() for writer in writers]
    shares = [int(result[0]) for result in results]
    assert min(shares) / max(shares) >= 0.5, results
    assert max(float(result[1]) for result in results) < 1.0, results


def test_closing_is_idempotent_and_later_calls_say_so(store: SqliteStore) -> None:
    put(store, "t", b"x")
    store.close()
    store.close()
    with pytest.raises(DurableStreamUnavailableError, match="closed"):
        store.append([Entry("t", [b"x"])], 1.0)
    with pytest.raises(DurableStreamUnavailableError, match="closed"):
        store.bounds("t")


def test_a_gate_file_that_was_removed_is_made_again(store: SqliteStore, path: Path) -> None:
    put(store, "t", b"x")
    gate = Path(f"{path}-gate")
    gate.unlink()
    store._session().gate._looked_at -= 10
    put(store, "t", b"y")
    assert gate.exists()
