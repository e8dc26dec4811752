"""Appends to PostgreSQL: one thread, 32 threads and batches, against threads that execute the same statement."""

from collections.abc import Iterator

from bench.pairs import Result, paired
from bench.raw_postgres import both
from bench.sqlite_append import rate

PAYLOAD = b"x" * 200
BATCH = [PAYLOAD] * 512
GOALS = {1: 0.8, 32: 6.0}


def run(pairs: int) -> Iterator[Result]:
    """Measure one thread, 32 threads on one topic, and batches of 512."""
    with both() as (streams, raw):
        topic = streams.topic("ours")
        streams.topic("raw").append(PAYLOAD)
        store = streams.capabilities.store
        for threads, goal in GOALS.items():
            writers = [raw.writer("raw", PAYLOAD, patient=threads > 1) for _ in range(threads)]
            yield paired(
                f"{store}: append, {threads} thread{'s' * (threads > 1)} on one topic",
                "records/s",
                lambda threads=threads: rate([lambda: topic.append(PAYLOAD)] * threads),  # type: ignore[misc]
                lambda writers=writers: rate(writers),  # type: ignore[misc]
                pairs=pairs,
                goal=goal,
            )
        (alone,) = [raw.writer("raw", PAYLOAD, patient=False)]
        yield paired(
            f"{store}: append_many of 512, against one record a statement",
            "records/s",
            lambda: 512 * rate([lambda: topic.append_many(BATCH)]),
            lambda: rate([alone]),
            pairs=pairs,
            goal=10.0,
        )
