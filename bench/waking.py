"""From an append in one process to a record in the hands of another: what the benches of waking have in common."""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

import tailrace
from bench.pairs import Result

SAMPLES = 400
EVERY = 0.003
SELDOM, SELDOM_SAMPLES = 0.7, 25
PAYLOAD = b"x" * 200


@dataclass
class Times:
    """Seconds to the arrival of each record, in order of length: since the call, and since it was acknowledged."""

    since_call: list[float]
    since_ack: list[float]

    @property
    def p50(self) -> float:
        """Median since the call."""
        return statistics.median(self.since_call)


def times(
    url: str,
    reader: Callable[[str, int, Connection], None],
    writer: Callable[[str], Callable[[], object]],
    *,
    every: float = EVERY,
    samples: int = SAMPLES,
) -> Times:
    """Run a reader in a process of its own, and write so often."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=reader, args=(url, samples, there))
    process.start()
    assert here.recv() == "ready"
    write = writer(url)
    called: list[float] = []
    acknowledged: list[float] = []
    for _ in range(samples):
        time.sleep(every)
        called.append(time.monotonic())
        write()
        acknowledged.append(time.monotonic())
    arrived = here.recv()
    process.join()
    return Times(
        sorted(after - before for after, before in zip(arrived, called, strict=True)),
        sorted(after - before for after, before in zip(arrived, acknowledged, strict=True)),
    )


def append(url: str) -> Callable[[], object]:
    """Return what appends one record."""
    topic = tailrace.connect(url).topic("t")
    return lambda: topic.append(PAYLOAD)


def receive(url: str, samples: int, there: Connection) -> None:
    """Receive every record, and send back when each came."""
    with tailrace.connect(url) as streams, streams.topic("t").subscribe_from_tail() as subscription:
        subscription.receive(0.2)
        there.send("ready")
        arrived: list[float] = []
        while len(arrived) < samples:
            if subscription.receive(10.0) is not None:
                arrived.append(time.monotonic())
        there.send(arrived)


def absolute(store: str, url: str, pairs: int, goal: float | None) -> Iterator[Result]:
    """Measure a store with records that come one after the other, and with records that come seldom.

    Args:
        goal: Of the median while they come one after the other, in milliseconds.
    """
    for what, every, samples, most in (
        (f"a record every {EVERY * 1e3:g} ms", EVERY, SAMPLES, goal),
        (f"a record every {SELDOM:g} s", SELDOM, SELDOM_SAMPLES, None),
    ):
        found = [times(url, receive, append, every=every, samples=samples) for _ in range(max(3, pairs // 2))]
        medians = [each.p50 * 1e3 for each in found]
        yield Result(
            f"{store}: append to receive between two processes, {what}, p50",
            "ms",
            statistics.median(medians),
            goal=most,
            pairs=len(found),
            ratios=medians,
            notes={
                "p99": statistics.median(each.since_call[int(samples * 0.99)] for each in found) * 1e3,
                "p50 since the acknowledgement": statistics.median(statistics.median(each.since_ack) for each in found)
                * 1e3,
            },
        )
