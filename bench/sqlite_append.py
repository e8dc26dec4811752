"""Appends at ``synchronous=full``: threads sharing commits, against the same threads committing alone."""

import functools
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import tailrace
from bench import raw_sqlite
from bench.pairs import Result, paired

PAYLOAD = b"x" * 200
SECONDS = 1.0
GOALS = {1: 0.85, 8: 2.5, 32: 4.0}
BATCH = [PAYLOAD] * 512


def run(pairs: int) -> Iterator[Result]:
    """Measure 1, 8 and 32 threads, then batches of 512."""
    for threads, goal in GOALS.items():
        with tempfile.TemporaryDirectory() as directory:
            yield append_by_threads(Path(directory), threads, goal, pairs)
    with tempfile.TemporaryDirectory() as directory:
        yield append_many(Path(directory), pairs)


def append_by_threads(directory: Path, threads: int, goal: float, pairs: int) -> Result:
    """One record a call from so many threads."""
    raw_path = directory / "raw.db"
    raw_sqlite.create(raw_path)
    writers = [raw_sqlite.Writer(raw_path) for _ in range(threads)]
    with tailrace.connect(f"sqlite:///{directory}/ours.db") as streams:
        topic = streams.topic("t")
        result = paired(
            f"append, {threads} thread{'s' * (threads > 1)}",
            "records/s",
            lambda: rate([lambda: topic.append(PAYLOAD)] * threads),
            lambda: rate([functools.partial(writer.commit, [PAYLOAD]) for writer in writers]),
            pairs=pairs,
            goal=goal,
        )
    for writer in writers:
        writer.close()
    return result


def append_many(directory: Path, pairs: int) -> Result:
    """Batches of 512 from one thread, against a multi-row commit."""
    raw_path = directory / "raw.db"
    raw_sqlite.create(raw_path)
    writer = raw_sqlite.Writer(raw_path)
    with tailrace.connect(f"sqlite:///{directory}/ours.db") as streams:
        topic = streams.topic("t")
        result = paired(
            "append_many of 512",
            "records/s",
            lambda: 512 * rate([lambda: topic.append_many(BATCH)]),
            lambda: 512 * rate([lambda: writer.commit(BATCH)]),
            pairs=pairs,
            goal=0.5,
        )
    writer.close()
    return result


def rate(calls: list[Callable[[], object]]) -> float:
    """Call each in its own thread, again and again; return calls per second of all."""
    counts = [0] * len(calls)
    failures: list[BaseException] = []
    ready = threading.Barrier(len(calls) + 1)
    stop = threading.Event()

    def loop(at: int, call: Callable[[], object]) -> None:
        ready.wait()
        try:
            while not stop.is_set():
                call()
                counts[at] += 1
        except BaseException as exc:  # noqa: BLE001 - raised below, where somebody sees it
            failures.append(exc)

    threads = [threading.Thread(target=loop, args=item) for item in enumerate(calls)]
    for thread in threads:
        thread.start()
    ready.wait()
    started = time.perf_counter()
    time.sleep(SECONDS)
    stop.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return sum(counts) / (time.perf_counter() - started)
