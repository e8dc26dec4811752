"""Appends to Redis: one thread, 32 threads and batches, against threads that call ``XADD``."""

from collections.abc import Iterator

import redis

from bench.pairs import Result, paired
from bench.raw_redis import both
from bench.sqlite_append import rate

PAYLOAD = b"x" * 200
BATCH = [PAYLOAD] * 512


def run(pairs: int) -> Iterator[Result]:
    """Measure one thread, 32 threads, and batches of 512."""
    with both() as (streams, raw):
        topic = streams.topic("t")
        for threads, goal in ((1, 0.8), (32, 4.0)):
            yield paired(
                f"{streams.capabilities.store}: append, {threads} thread{'s' * (threads > 1)}",
                "records/s",
                lambda threads=threads: rate([lambda: topic.append(PAYLOAD)] * threads),  # type: ignore[misc]
                lambda threads=threads: rate([lambda: add(raw)] * threads),  # type: ignore[misc]
                pairs=pairs,
                goal=goal,
            )
            raw.flushdb()
        yield paired(
            f"{streams.capabilities.store}: append_many of 512, against one XADD a record",
            "records/s",
            lambda: 512 * rate([lambda: topic.append_many(BATCH)]),
            lambda: rate([lambda: add(raw)]),
            pairs=pairs,
            goal=10.0,
        )
    with both(appendonly="yes", appendfsync="always") as (streams, raw):
        topic = streams.topic("t")
        yield paired(
            f"{streams.capabilities.store}, appendfsync always: append, 32 threads",
            "records/s",
            lambda: rate([lambda: topic.append(PAYLOAD)] * 32),
            lambda: rate([lambda: add(raw)] * 32),
            pairs=pairs,
            goal=2.0,
        )


def add(raw: "redis.Redis") -> None:
    """Add one entry."""
    raw.xadd("raw", {"p": PAYLOAD})
