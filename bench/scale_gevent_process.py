"""One measurement of ``scale-gevent``: ``python -m bench.scale_gevent_process URL READERS``; prints JSON."""

from gevent import monkey

monkey.patch_all()

import gc  # noqa: E402
import json  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator  # noqa: E402

import gevent.event  # noqa: E402
import psutil  # noqa: E402

import tailrace  # noqa: E402
from tailrace.spi import Appended, Entry  # noqa: E402

ROUNDS = 5


def main(url: str, readers: int) -> None:
    """Measure with a topic each, then with one topic."""
    with tailrace.connect(url) as streams:
        streams.topic("warm").append(b"x")
        gc.collect()
        figures = {"MiB": mebibytes()}
        each = waiting(streams, [f"t{number}" for number in range(readers)])
        gc.collect()
        figures["MiB"] = mebibytes() - figures["MiB"]
        figures["idle %"] = idle(3.0)
        figures["a topic each"] = statistics.median(rounds(streams, each))
        for subscription in each.open:
            subscription.close()
        one = waiting(streams, ["one"] * readers)
        figures["one topic"] = statistics.median(rounds(streams, one))
    print(json.dumps(figures))


class Waiting:
    """Readers that wait, and what they have received."""

    def __init__(self, topics: list[str]) -> None:
        self.topics = topics
        self.received = 0
        self.all = gevent.event.Event()
        self.open: list[tailrace.Subscription] = []

    def read(self, streams: tailrace.StreamClient, topic: str) -> None:
        """Wait for records, as a server's greenlet does, until the client is closed."""
        with streams.topic(topic).subscribe_from_tail() as subscription:
            self.open.append(subscription)
            while (record := subscription.receive(30)) is not tailrace.CLOSED:
                if record is not None:
                    self.received += 1
                    if self.received == len(self.topics):
                        self.all.set()


def waiting(streams: tailrace.StreamClient, topics: list[str]) -> Waiting:
    """Start a reader for each name and return when all are live."""
    them = Waiting(topics)
    live = int(streams.stats()["live_subscriptions"] or 0) + len(topics)
    for topic in topics:
        gevent.spawn(them.read, streams, topic)
    while streams.stats()["live_subscriptions"] != live:
        gevent.sleep(0.05)
    gevent.sleep(1.0)
    return them


def rounds(streams: tailrace.StreamClient, them: Waiting) -> Iterator[float]:
    """Append one record to each of their topics, a few times; yield the seconds until everybody had it."""
    for _ in range(ROUNDS):
        them.received = 0
        them.all.clear()
        start = time.monotonic()
        append(streams, set(them.topics))
        them.all.wait()
        yield time.monotonic() - start
        gevent.sleep(0.5)


def append(streams: tailrace.StreamClient, topics: set[str]) -> None:
    """Append to all in one commit, as many producers would; readers hear of it as they would from another process."""
    outcomes = streams._engine.backend.append([Entry(topic, [b"x"]) for topic in topics], 30.0)
    assert all(isinstance(outcome, Appended) for outcome in outcomes)


def mebibytes() -> float:
    """Return the resident memory of this process."""
    return float(psutil.Process().memory_info().rss) / 2**20


def idle(seconds: float) -> float:
    """Return the CPU that this process takes while nothing happens, in percent."""
    wall, cpu = time.monotonic(), time.process_time()
    gevent.sleep(seconds)
    return 100 * (time.process_time() - cpu) / (time.monotonic() - wall)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
