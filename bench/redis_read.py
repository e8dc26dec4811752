"""Catch-up from Redis: 200,000 records through a subscription, against pages of ``XRANGE COUNT 500``."""

from collections.abc import Iterator

import redis

from bench.pairs import Result, paired
from bench.raw_redis import both
from bench.sqlite_read import PAYLOAD, RECORDS, through_a_subscription, timed


def run(pairs: int) -> Iterator[Result]:
    """Measure one reader that is far behind, of records appended together and one by one."""
    with both() as (streams, raw):
        topic = streams.topic("t")
        for _ in range(RECORDS // 2000):
            topic.append_many([PAYLOAD] * 2000)
        pipeline = raw.pipeline(transaction=False)
        for at in range(RECORDS):
            pipeline.xadd("raw", {"p": PAYLOAD})
            if at % 2000 == 1999:
                pipeline.execute()
        yield paired(
            f"{streams.capabilities.store}: catch-up of 200,000 small records",
            "records/s",
            lambda: timed(lambda: through_a_subscription(topic)),
            lambda: timed(lambda: by_pages(raw)),
            pairs=pairs,
            goal=0.7,
        )
        topic = streams.topic("one by one")
        for _ in range(RECORDS):
            topic.append(PAYLOAD)
        yield paired(
            f"{streams.capabilities.store}: catch-up of 200,000 small records, each of its own append",
            "records/s",
            lambda: timed(lambda: through_a_subscription(topic)),
            lambda: timed(lambda: by_pages(raw)),
            pairs=pairs,
            goal=0.7,
        )


def by_pages(raw: "redis.Redis") -> int:
    """Return how many entries were read."""
    seen, after = 0, "-"
    while page := raw.xrange("raw", after, "+", count=500):
        for _id, fields in page:
            fields[b"p"]
            seen += 1
        after = f"({page[-1][0].decode()}"
    return seen
