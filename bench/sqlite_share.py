"""Fairness: processes that write one file as fast as they can, and the smallest share against the largest."""

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier, Event

import tailrace
from bench.pairs import Result

PROCESSES = 4
SECONDS = 3.0


def run(pairs: int) -> Iterator[Result]:
    """Measure four processes."""
    shares, totals, p99s = [], [], []
    for _ in range(max(3, pairs // 2)):
        counts, waits = once()
        shares.append(min(counts) / max(counts))
        totals.append(sum(counts) / SECONDS)
        p99s.append(max(waits) * 1e3)
    yield Result(
        "4 processes on one file, smallest of largest share",
        "share",
        statistics.median(shares),
        ratio=statistics.median(shares),
        goal=0.5,
        pairs=len(shares),
        ratios=shares,
        notes={"records/s in all": statistics.median(totals), "p99 ms of the worst": statistics.median(p99s)},
    )


def once() -> tuple[list[int], list[float]]:
    """Return appends per process, and each one's 99th percentile in seconds."""
    context = multiprocessing.get_context("spawn")
    barrier, stop, answers = context.Barrier(PROCESSES + 1), context.Event(), context.Queue()
    with tempfile.TemporaryDirectory() as directory:
        url = f"sqlite:///{directory}/share.db"
        workers = [context.Process(target=write, args=(url, barrier, stop, answers)) for _ in range(PROCESSES)]
        for worker in workers:
            worker.start()
        barrier.wait()
        time.sleep(SECONDS)
        stop.set()
        results = [answers.get(timeout=60) for _ in workers]
        for worker in workers:
            worker.join()
    return [count for count, _ in results], [p99 for _, p99 in results]


def write(url: str, barrier: Barrier, stop: Event, answers: "multiprocessing.Queue[tuple[int, float]]") -> None:
    """Append until told to stop."""
    with tailrace.connect(url) as streams:
        topic = streams.topic("t")
        waits: list[float] = []
        barrier.wait()
        while not stop.is_set():
            started = time.perf_counter()
            topic.append(b"x" * 200)
            waits.append(time.perf_counter() - started)
    waits.sort()
    answers.put((len(waits), waits[int(len(waits) * 0.99)]))
