"""Catch-up from NATS: through a subscription, against an ordered consumer of nats-py."""

import time
from collections.abc import Callable, Iterator

import tailrace
from bench.catching_up import PAYLOAD
from bench.pairs import Result, paired
from bench.raw_nats import both

RECORDS = 100_000
FEW = 20_000
"""Appended one by one, which takes a while."""


def run(pairs: int) -> Iterator[Result]:
    """Measure one reader that is far behind, of records appended together and one by one."""
    with both() as (streams, raw):
        together = streams.topic("together")
        for _ in range(RECORDS // 2000):
            together.append_many([PAYLOAD] * 2000)
        raw.fill(PAYLOAD, RECORDS)
        yield paired(
            f"{streams.capabilities.store}: catch-up of {RECORDS:,} small records",
            "records/s",
            lambda: timed(RECORDS, lambda: through_a_subscription(together, RECORDS)),
            lambda: timed(RECORDS, lambda: raw.ordered(RECORDS)),
            pairs=pairs,
            goal=0.5,
        )
        raw.empty()
        raw.fill(PAYLOAD, FEW)
        apart = streams.topic("apart")
        for _ in range(FEW):
            apart.append(PAYLOAD)
        yield paired(
            f"{streams.capabilities.store}: catch-up of {FEW:,} small records, each of its own append",
            "records/s",
            lambda: timed(FEW, lambda: through_a_subscription(apart, FEW)),
            lambda: timed(FEW, lambda: raw.ordered(FEW)),
            pairs=pairs,
            goal=0.5,
        )


def through_a_subscription(topic: tailrace.Topic, records: int) -> int:
    """Return how many of so many records were received."""
    seen = 0
    with topic.subscribe_from_beginning() as subscription:
        while seen < records and subscription.receive(5.0) is not None:
            seen += 1
    return seen


def timed(records: int, read: Callable[[], int]) -> float:
    """Return the rate, if everything was read."""
    started = time.perf_counter()
    seen = read()
    seconds = time.perf_counter() - started
    if seen != records:
        raise AssertionError(f"read {seen} of {records} records")
    return seen / seconds
