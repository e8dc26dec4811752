"""Catch-up: 200,000 small records through a subscription, against a bare cursor loop over the same file."""

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import tailrace
from bench import raw_sqlite
from bench.pairs import Result, paired

RECORDS = 200_000
PAYLOAD = b"x" * 50


def run(pairs: int) -> Iterator[Result]:
    """Measure one reader that is far behind."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "read.db"
        with tailrace.connect(f"sqlite:///{path}") as streams:
            topic = streams.topic("t")
            for _ in range(RECORDS // 2000):
                topic.append_many([PAYLOAD] * 2000)
            connection = raw_sqlite.connect(path)
            yield paired(
                "catch-up of 200,000 small records",
                "records/s",
                lambda: timed(lambda: through_a_subscription(topic)),
                lambda: timed(lambda: through_a_cursor(connection)),
                pairs=pairs,
                goal=0.4,
            )
            connection.close()


def through_a_subscription(topic: tailrace.Topic) -> int:
    """Return how many records were received."""
    seen = 0
    with topic.subscribe_from_beginning() as subscription:
        while subscription.receive(0) is not None:
            seen += 1
    return seen


def through_a_cursor(connection: sqlite3.Connection) -> int:
    """Return how many rows were fetched."""
    seen = 0
    for _position, _payload in connection.execute(
        "select position, payload from records where topic_id = 1 and position > 0 order by position"
    ):
        seen += 1
    return seen


def timed(read: Callable[[], int]) -> float:
    """Return the rate, if everything was read."""
    started = time.perf_counter()
    seen = read()
    seconds = time.perf_counter() - started
    if seen != RECORDS:
        raise AssertionError(f"read {seen} of {RECORDS} records")
    return seen / seconds
