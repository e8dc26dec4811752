"""Catch-up from Redis: 200,000 records through a subscription, against pages of ``XRANGE COUNT 500``."""

from collections.abc import Iterator

import redis

from bench.catching_up import PAYLOAD, RECORDS, caught_up, filled
from bench.pairs import Result
from bench.raw_redis import both


def run(pairs: int) -> Iterator[Result]:
    """Measure one reader that is far behind, of records appended together and one by one."""
    with both() as (streams, raw):
        topic = filled(streams.topic("t"))
        pipeline = raw.pipeline(transaction=False)
        for at in range(RECORDS):
            pipeline.xadd("raw", {"p": PAYLOAD})
            if at % 2000 == 1999:
                pipeline.execute()
        what = streams.capabilities.store
        yield caught_up(topic, lambda: by_pages(raw), what=what, pairs=pairs, goal=0.7)
        topic = streams.topic("one by one")
        for _ in range(RECORDS):
            topic.append(PAYLOAD)
        what += ", each record appended alone"
        yield caught_up(topic, lambda: by_pages(raw), what=what, pairs=pairs, goal=0.7)


def by_pages(raw: "redis.Redis") -> int:
    """Return how many entries were read."""
    seen, after = 0, "-"
    while page := raw.xrange("raw", after, "+", count=500):
        for _id, fields in page:
            fields[b"p"]
            seen += 1
        after = f"({page[-1][0].decode()}"
    return seen
