"""Other processes for the tests: ``python processes.py WORK PATH ARGUMENTS...``; each prints what it did."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

from tailrace.backends.sqlite import SqliteStore
from tailrace.backends.sqlite.location import Location
from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import Appended, Entry, Page, ReadRequest, SweepBudget
from tailrace.testing.servers.waiting import line_of


def start(work: str, path: Path, *arguments: object) -> "subprocess.Popen[str]":
    """Start one. It prints ``ready``, and waits for a line before it begins."""
    command = [sys.executable, __file__, work, str(path), *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert line_of(process) == "ready\n"
    return process


def go(*processes: "subprocess.Popen[str]") -> None:
    """Let processes begin, at once."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def lines(process: "subprocess.Popen[str]") -> list[str]:
    """Wait for the end and return what it printed."""
    printed, _ = process.communicate(timeout=120)
    return printed.splitlines()


def say(*words: object) -> None:
    """Print a line, whole even among threads and whatever happens next."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def ready() -> None:
    """Say so, and wait for a line."""
    say("ready")
    sys.stdin.readline()


def open_at(path: str, **options: float) -> SqliteStore:
    """Open a store without retention."""
    return SqliteStore(Location(path), StoreOptions(**options))


def append(path: str, topic: str, name: str, threads: str, count: str) -> None:
    """Append from threads; print each payload once it is acknowledged. Count 0 goes on until killed."""
    store = open_at(path)
    ready()

    def loop(thread: int) -> None:
        number = 0
        while number < int(count) or count == "0":
            number += 1
            payload = f"{name}.{thread}.{number}"
            (outcome,) = store.append([Entry(topic, [payload.encode()])], 10.0)
            say("ok" if isinstance(outcome, Appended) else repr(outcome), payload)

    run_threads(loop, int(threads))
    store.close()


def append_for(path: str, topic: str, seconds: str) -> None:
    """Append one record after the other; print how many and the longest wait."""
    store = open_at(path)
    ready()
    waits = []
    end = time.monotonic() + float(seconds)
    while (began := time.monotonic()) < end:
        (outcome,) = store.append([Entry(topic, [b"x" * 100])], 10.0)
        assert isinstance(outcome, Appended), outcome
        waits.append(time.monotonic() - began)
    waits.sort()
    say(len(waits), waits[int(len(waits) * 0.99)], waits[-1])
    store.close()


def append_once(path: str, topic: str, payload: str) -> None:
    """Append one record."""
    store = open_at(path)
    ready()
    (outcome,) = store.append([Entry(topic, [payload.encode()])], 10.0)
    say(isinstance(outcome, Appended))
    store.close()


def follow(path: str, topic: str) -> None:
    """Print each payload as it comes, until one that says ``end``."""
    store = open_at(path)
    watch = store.watch()
    watch.follow([topic], [])
    place = store.bounds(topic)
    after = place.beginning if hasattr(place, "beginning") else place
    ready()
    while True:
        (page,) = store.read([ReadRequest(topic, after, 512, 2**20)])
        assert isinstance(page, Page), page
        for _, _, payload in page.records:
            say(payload.decode())
            if payload == b"end":
                return
        after = page.end
        if not page.more:
            watch.wait(1.0)


def hold(path: str) -> None:
    """Hold the gate inside a transaction, and print when; until killed."""
    store = open_at(path)
    ready()

    def work(connection: sqlite3.Connection) -> tuple[None, tuple[()]]:
        say("holding")
        sys.stdin.readline()
        return None, ()

    store._session().write(work, 10.0)
    say("released")
    store.close()


def sweep(path: str) -> None:
    """Sweep again and again until a line comes."""
    store = SqliteStore(Location(path), StoreOptions(retention=Retention(max_age=3600)))
    ready()
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    while not stop.wait(0.02):
        store.sweep(SweepBudget())
    store.close()


def fork_and_append(path: str, topic: str, count: str) -> None:
    """Open, append, fork; then append from four threads in the parent and in the child."""
    store = open_at(path)
    ready()
    store.append([Entry(topic, [b"parent.0.0"])], 10.0)
    say("ok", "parent.0.0")
    child = os.fork()
    name = "parent" if child else "child"

    def loop(thread: int) -> None:
        for number in range(1, int(count) + 1):
            payload = f"{name}.{thread}.{number}"
            (outcome,) = store.append([Entry(topic, [payload.encode()])], 10.0)
            say("ok" if isinstance(outcome, Appended) else repr(outcome), payload)

    run_threads(loop, 4)
    if not child:
        os._exit(0)
    _, status = os.waitpid(child, 0)
    say("child", status)
    store.close()


def open_new(path: str) -> None:
    """Open a file that may not exist yet."""
    ready()
    store = open_at(path)
    store.append([Entry("t", [b"x"])], 10.0)
    say("opened")
    store.close()


def run_threads(loop, count: int) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Run ``loop(n)`` in threads and wait for them."""
    threads = [threading.Thread(target=loop, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    globals()[sys.argv[1]](*sys.argv[2:])
