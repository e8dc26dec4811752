"""Two hundred writers with a thousand live readers of other topics, against the same writers without them."""

import statistics
import threading
import time
from collections.abc import Iterator

from tests.faults.crowd import Crowd

import tailrace
from bench.pairs import Result, paired
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer

WRITERS, APPENDS, READERS = 200, 50, 1000
FED, FED_EVERY = 100, 0.01
PAYLOAD = b"x" * 200


def on_postgres(pairs: int) -> Iterator[Result]:
    """Measure PostgreSQL."""
    with PostgresServer(synchronous=True) as server:
        yield measured(server.url(), pairs)


def on_mysql(pairs: int) -> Iterator[Result]:
    """Measure MariaDB."""
    with MariadbServer(synchronous=True) as server:
        yield measured(server.url(server.create_database()), pairs)


def measured(url: str, pairs: int) -> Result:
    """Run the writers in turns with and without the readers, whose topics get a few records in either case."""
    read = [f"read-{at}" for at in range(READERS)]
    with tailrace.connect(url, create=True, append_timeout=60.0) as streams, Crowd(url, read) as crowd:
        written = [streams.topic(f"written-{at}") for at in range(WRITERS)]

        def beside() -> float:
            crowd.follow()
            found = rate(streams, written, read)
            crowd.leave(FED)
            return found

        return paired(
            f"{streams.capabilities.store}: p50 of {WRITERS} writers x {APPENDS} beside {READERS:,} live readers",
            "1/s",
            beside,
            lambda: rate(streams, written, read),
            pairs=pairs,
            goal=1 / 1.5,
        )


def rate(streams: tailrace.StreamClient, written: list[tailrace.Topic], read: list[str]) -> float:
    """Return the inverse of the median append's seconds."""
    took: list[float] = []

    def write(topic: tailrace.Topic) -> None:
        for _ in range(APPENDS):
            began = time.perf_counter()
            topic.append(PAYLOAD)
            took.append(time.perf_counter() - began)

    threads = [threading.Thread(target=write, args=(topic,)) for topic in written]
    for thread in threads:
        thread.start()
    for number in range(FED):
        streams.topic(read[number * 7 % READERS]).append(PAYLOAD)
        time.sleep(FED_EVERY)
    for thread in threads:
        thread.join()
    return 1 / statistics.median(took)
