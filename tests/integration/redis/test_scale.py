"""Ten thousand live topics in one process: what they hold open, what they cost while nothing happens, how they end."""

import threading
import time
from collections.abc import Iterator

import pytest
import redis
from tests.integration.redis.crowd import until

import tailrace
from tailrace import CLOSED, StreamClient
from tailrace.options import EngineOptions
from tailrace.records import DurableStreamRecord
from tailrace.subscription import Subscription
from tailrace.testing.reading import Background

pytestmark = pytest.mark.long

TOPICS = 10_000
FALLBACK = EngineOptions().poll_healthy

Live = tuple[StreamClient, list[Subscription]]


@pytest.fixture(scope="module")
def held(server: str) -> Iterator[tuple[Live, int, int]]:
    """A client with that many live topics, and how many connections and threads it has more than before."""
    raw = redis.Redis.from_url(server)
    connections, threads = len(raw.client_list()), threading.active_count()
    with tailrace.connect(server) as streams:
        entered = [streams.topic(f"t{number}").subscribe_from_tail().__enter__() for number in range(TOPICS)]
        until(lambda: streams.stats()["live_topics"] == TOPICS and streams.stats()["hints_arrive"] is True)
        until(lambda: raw.pubsub_numsub(f"tailrace:{{t{TOPICS - 1}}}:h")[0][1] == 1)
        yield (streams, entered), len(raw.client_list()) - connections, threading.active_count() - threads
        for subscription in entered:
            subscription.close()
    raw.close()


def test_they_share_three_connections_and_two_threads_at_most(held: tuple[Live, int, int]) -> None:
    _live, connections, threads = held
    assert connections <= 3
    assert threads <= 2


def test_waiting_takes_hardly_any_processor_time_the_fallback_included(held: tuple[Live, int, int]) -> None:
    (streams, _), *_ = held
    reads, used, since = streams.stats()["pump_reads"], time.process_time(), time.monotonic()

    time.sleep(FALLBACK + 1)

    assert (time.process_time() - used) / (time.monotonic() - since) < 0.05
    # All of them were read once meanwhile.
    assert isinstance(reads, int)
    assert streams.stats()["pump_reads"] >= reads + TOPICS // 100


def test_each_is_told_of_its_record(server: str, held: tuple[Live, int, int]) -> None:
    (_, entered), *_ = held
    with tailrace.connect(server) as elsewhere:
        for number in (0, 4_999, TOPICS - 1):
            elsewhere.topic(f"t{number}").append(b"%d" % number)
            record = entered[number].receive(1.0)
            assert isinstance(record, DurableStreamRecord)
            assert record.payload == b"%d" % number


def test_closing_frees_a_blocked_reader_within_100_ms(held: tuple[Live, int, int]) -> None:
    (_, entered), *_ = held
    late = []
    for subscription in entered[10:20]:
        waiting = Background(lambda one=subscription: (one.receive(30.0), time.monotonic()))  # type: ignore[misc]
        until(lambda one=subscription: one._reader.feed.waiter._sleeper is not None)  # type: ignore[misc]
        closed = time.monotonic()
        subscription.close()
        answer, freed = waiting.result()
        assert answer is CLOSED
        late.append(freed - closed)
    assert max(late) < 0.1
