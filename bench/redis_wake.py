"""From publishing to receiving, in two processes: an append and a subscription, against Redis' own pub/sub."""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection

import redis
from tests.redis_server import redis_server

import tailrace
from bench.pairs import Result, paired

SAMPLES = 400
EVERY = 0.003
PAYLOAD = b"x" * 200


def run(pairs: int) -> Iterator[Result]:
    """Measure the median latency; a rate is its inverse, so that more is better."""
    with redis_server() as url:
        yield paired(
            "Redis: append to receive between two processes, p50, against pub/sub",
            "1/s",
            lambda: 1 / statistics.median(latencies(url, receive, append)),
            lambda: 1 / statistics.median(latencies(url, hear, publish)),
            pairs=pairs,
            goal=1 / 1.5,
        )


def latencies(
    url: str, reader: Callable[[str, Connection], None], writer: Callable[[str], Callable[[], object]]
) -> list[float]:
    """Return the seconds from each call to the arrival of what it sent."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=reader, args=(url, there))
    process.start()
    assert here.recv() == "ready"
    write = writer(url)
    sent: list[float] = []
    for _ in range(SAMPLES):
        time.sleep(EVERY)
        sent.append(time.monotonic())
        write()
    arrived = here.recv()
    process.join()
    return [after - before for after, before in zip(arrived, sent, strict=True)]


def append(url: str) -> Callable[[], object]:
    """Return what appends one record."""
    topic = tailrace.connect(url).topic("t")
    return lambda: topic.append(PAYLOAD)


def receive(url: str, there: Connection) -> None:
    """Receive every record, and send back when each came."""
    with tailrace.connect(url) as streams, streams.topic("t").subscribe_from_tail() as subscription:
        subscription.receive(0.2)
        there.send("ready")
        arrived: list[float] = []
        while len(arrived) < SAMPLES:
            if subscription.receive(10.0) is not None:
                arrived.append(time.monotonic())
        there.send(arrived)


def publish(url: str) -> Callable[[], object]:
    """Return what publishes one message."""
    client = redis.Redis.from_url(url, protocol=2)
    return lambda: client.publish("raw", PAYLOAD)


def hear(url: str, there: Connection) -> None:
    """Receive every message, and send back when each came."""
    client = redis.Redis.from_url(url, protocol=2)
    with client.pubsub(ignore_subscribe_messages=False) as pubsub:
        pubsub.subscribe("raw")
        assert pubsub.get_message(timeout=5) is not None
        there.send("ready")
        arrived: list[float] = []
        while len(arrived) < SAMPLES:
            if pubsub.get_message(timeout=10.0) is not None:
                arrived.append(time.monotonic())
        there.send(arrived)
    client.close()
