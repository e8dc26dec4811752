"""From publishing to receiving, in two processes: an append and a subscription, against Redis' own pub/sub."""

import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection

import redis
from tests.redis_server import redis_server

import tailrace
from bench.pairs import Result, paired
from bench.waking import PAYLOAD, absolute, append, receive, times


def run(pairs: int) -> Iterator[Result]:
    """Measure the median latency, as a rate (its inverse) against pub/sub, and absolutely."""
    with redis_server() as url:
        yield paired(
            "Redis: append to receive between two processes, p50, against pub/sub",
            "1/s",
            lambda: 1 / times(url, receive, append).p50,
            lambda: 1 / times(url, hear, publish).p50,
            pairs=pairs,
            goal=1 / 1.5,
        )
        with tailrace.connect(url) as streams:
            store = streams.capabilities.store
        yield from absolute(store, url, pairs, None)


def publish(url: str) -> Callable[[], object]:
    """Return what publishes one message."""
    client = redis.Redis.from_url(url, protocol=2)
    return lambda: client.publish("raw", PAYLOAD)


def hear(url: str, samples: int, there: Connection) -> None:
    """Receive every message, and send back when each came."""
    client = redis.Redis.from_url(url, protocol=2)
    with client.pubsub(ignore_subscribe_messages=False) as pubsub:
        pubsub.subscribe("raw")
        assert pubsub.get_message(timeout=5) is not None
        there.send("ready")
        arrived: list[float] = []
        while len(arrived) < samples:
            if pubsub.get_message(timeout=10.0) is not None:
                arrived.append(time.monotonic())
        there.send(arrived)
    client.close()
