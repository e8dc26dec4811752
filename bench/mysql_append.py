"""Appends to MariaDB: one thread, 32 threads and batches, against threads that run the same statements themselves."""

from collections.abc import Iterator
from contextlib import closing

from bench.pairs import Result, paired
from bench.raw_mysql import PAYLOAD, Bare, both
from bench.sqlite_append import rate

BATCH = [PAYLOAD] * 512


def run(pairs: int) -> Iterator[Result]:
    """Measure one thread, 32 threads, and batches of 512."""
    with both() as (streams, server, database), closing(Bare(server, database)) as bare:
        topic = streams.topic("t")
        store = streams.capabilities.store
        for threads, goal in ((1, 0.8), (32, 4.0)):
            yield paired(
                f"{store}: append, {threads} thread{'s' * (threads > 1)}",
                "records/s",
                lambda threads=threads: rate([lambda: topic.append(PAYLOAD)] * threads),  # type: ignore[misc]
                lambda threads=threads: rate([bare.append] * threads),  # type: ignore[misc]
                pairs=pairs,
                goal=goal,
            )
        yield paired(
            f"{store}: append_many of 512, against one transaction a record",
            "records/s",
            lambda: 512 * rate([lambda: topic.append_many(BATCH)]),
            lambda: rate([bare.append]),
            pairs=pairs,
            goal=10.0,
        )
