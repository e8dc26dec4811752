"""Appends to NATS: one thread, 32 threads and batches, against nats-py publishing in turn and with 64 on their way."""

from collections.abc import Iterator

from bench.pairs import Result, paired
from bench.raw_nats import both
from bench.sqlite_append import rate

PAYLOAD = b"x" * 200
BATCH = [PAYLOAD] * 512


def run(pairs: int) -> Iterator[Result]:
    """Measure one thread, 32 threads, and batches of 512."""
    with both() as (streams, raw):
        topic = streams.topic("t")
        store = streams.capabilities.store
        yield paired(
            f"{store}: append, 1 thread, against publishing in turn",
            "records/s",
            lambda: rate([lambda: topic.append(PAYLOAD)]),
            lambda: raw.in_turn(PAYLOAD),
            pairs=pairs,
            goal=0.6,
        )
        raw.empty()
        yield paired(
            f"{store}: append, 32 threads, against publishing with 64 in flight",
            "records/s",
            lambda: rate([lambda: topic.append(PAYLOAD)] * 32),
            lambda: raw.in_flight(PAYLOAD),
            pairs=pairs,
            goal=0.5,
        )
        raw.empty()
        yield paired(
            f"{store}: append_many of 512, against publishing with 64 in flight",
            "records/s",
            lambda: 512 * rate([lambda: topic.append_many(BATCH)]),
            lambda: raw.in_flight(PAYLOAD),
            pairs=pairs,
            goal=1.0,
        )
