"""Catch-up: 200,000 small records through a subscription, against a loop over the bare driver, on every store."""

import time
from collections.abc import Callable

import tailrace
from bench.pairs import Result, paired

RECORDS = 200_000
PAYLOAD = b"x" * 50


def filled(topic: tailrace.Topic) -> tailrace.Topic:
    """Append all records, many at once; return the topic."""
    for _ in range(RECORDS // 2000):
        topic.append_many([PAYLOAD] * 2000)
    return topic


def caught_up(topic: tailrace.Topic, bare: Callable[[], int], *, what: str, pairs: int, goal: float) -> Result:
    """Measure one reader that is far behind.

    Args:
        bare: Reads the same number of rows without us; returns how many it has read.
        what: Names the store, and how the records came.
    """
    return paired(
        f"{what}: catch-up of 200,000 small records",
        "records/s",
        lambda: _rate(lambda: _through_a_subscription(topic)),
        lambda: _rate(bare),
        pairs=pairs,
        goal=goal,
    )


def _through_a_subscription(topic: tailrace.Topic) -> int:
    seen = 0
    with topic.subscribe_from_beginning() as subscription:
        while subscription.receive(0) is not None:
            seen += 1
    return seen


def _rate(read: Callable[[], int]) -> float:
    started = time.perf_counter()
    seen = read()
    seconds = time.perf_counter() - started
    if seen != RECORDS:
        raise AssertionError(f"read {seen} of {RECORDS} records")
    return seen / seconds
