"""S13c: a short outage is ridden out by subscriptions that poll, a long one is told after the budget."""

import contextlib
import time

import pytest

from tailrace.errors import DurableStreamUnavailableError
from tailrace.records import CLOSED, DurableStreamRecord
from tailrace.testing.drivers import Subscription
from tailrace.testing.faults import Fail, FaultyBackend
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import PATIENCE, Background, numbered, read_all, take
from tailrace.testing.servers.waiting import until
from tailrace.testing.stores import StoreUnderTest

READERS = 8


def _poll(subscription: Subscription, count: int, timeout: float, patience: float) -> list[bytes] | Exception:
    """Read as the scenario does, with short timeouts only; return what came, or the error that ended it."""
    found: list[bytes] = []
    deadline = time.monotonic() + patience
    with contextlib.closing(subscription):
        while len(found) < count and time.monotonic() < deadline:
            try:
                answer = subscription.receive(timeout=timeout)
            except DurableStreamUnavailableError as error:
                assert subscription.receive(timeout=0) is CLOSED
                return error
            assert answer is not CLOSED
            if isinstance(answer, DurableStreamRecord):
                found.append(answer.payload)
    return found


def _outage(
    connect: Connect, faulty: FaultyBackend, store: StoreUnderTest, *, away: float, budget: float, told: bool = False
) -> list[object]:
    """Let readers wait while the store is away; return what each of them got.

    Args:
        told: Whether the store stays away for longer, until all of them have ended, and they wait for more than there
            is: on a busy machine the first failure, from which the budget counts, may come late, and a read that had
            begun before may bring everything.
    """
    client, writer = connect(faulty, outage_budget=budget, poll_unsure=0.2), connect()
    names = [store.fresh_name() for _ in range(READERS)]
    wanted = 16 if told else 15
    readers = []
    for index, name in enumerate(names):
        writer.topic(name).append_many(numbered(5))
        subscription = client.topic(name).subscribe_from_beginning().__enter__()
        timeout = (0.1, 0.1, 0.0, 0.05)[index % 4]
        readers.append(
            Background(lambda one=subscription, timeout=timeout: _poll(one, wanted, timeout, away + PATIENCE))
        )  # type: ignore[misc]
    for name in names:
        writer.topic(name).append_many(numbered(5, 5))
    faulty.go_away()
    for name in names:
        writer.topic(name).append_many(numbered(5, 10))
    time.sleep(away)
    if not told:
        faulty.heal()
    outcomes: list[object] = [reader.result(away + 2 * PATIENCE) for reader in readers]
    faulty.heal()
    return outcomes


def test_away_for_300_milliseconds(connect: Connect, faulty: FaultyBackend, store: StoreUnderTest) -> None:
    assert _outage(connect, faulty, store, away=0.3, budget=30.0) == [numbered(15)] * READERS


def test_away_for_longer_than_the_budget(connect: Connect, faulty: FaultyBackend, store: StoreUnderTest) -> None:
    outcomes = _outage(connect, faulty, store, away=1.0, budget=0.5, told=True)
    assert [type(outcome) for outcome in outcomes] == [DurableStreamUnavailableError] * READERS


def test_away_again_and_again_for_less_than_the_budget(
    connect: Connect, faulty: FaultyBackend, store: StoreUnderTest, name: str
) -> None:
    topic, writer = connect(faulty, outage_budget=2.0, poll_unsure=0.1).topic(name), connect().topic(name)
    subscription = topic.subscribe_from_tail().__enter__()
    reading = Background(lambda: _poll(subscription, 60, 0.05, PATIENCE))
    until(lambda: faulty.calls["wait"] > 0, "it waits for hints")
    for number in range(6):
        faulty.go_away()
        writer.append_many(numbered(10, number * 10))
        time.sleep(0.5)
        faulty.heal()
        time.sleep(0.5)
    assert reading.result() == numbered(60)


def test_every_other_read_fails(connect: Connect, faulty: FaultyBackend, name: str) -> None:
    topic = connect(faulty, outage_budget=5.0, page_records=5, buffer_records=5).topic(name)
    topic.append_many(numbered(50))
    with topic.subscribe_from_beginning() as subscription:
        found: list[bytes] = []
        deadline = time.monotonic() + PATIENCE
        while len(found) < 50:
            assert time.monotonic() < deadline, f"only {len(found)} of 50 records came"
            if len(found) % 5 == 0:
                faulty.heal()
                faulty.next("read", Fail())
            answer = subscription.receive(timeout=0.1)
            if isinstance(answer, DurableStreamRecord):
                found.append(answer.payload)
    assert found == numbered(50)


def test_a_reader_that_was_told_resumes_from_its_cursor(connect: Connect, faulty: FaultyBackend, name: str) -> None:
    topic, writer = connect(faulty, outage_budget=0.3).topic(name), connect().topic(name)
    writer.append_many(numbered(3))
    with topic.subscribe_from_beginning() as subscription:
        take(subscription, 3)
        faulty.go_away()
        writer.append(b"3")
        with pytest.raises(DurableStreamUnavailableError):
            take(subscription, 1)
    faulty.heal()
    rest = connect().topic(name).subscribe_from_cursor(subscription.cursor)
    assert read_all(rest, 1) == [b"3"]


@pytest.mark.long
def test_away_for_5_seconds(connect: Connect, faulty: FaultyBackend, store: StoreUnderTest) -> None:
    assert _outage(connect, faulty, store, away=5.0, budget=30.0) == [numbered(15)] * READERS


@pytest.mark.long
def test_away_for_40_seconds(connect: Connect, faulty: FaultyBackend, store: StoreUnderTest) -> None:
    outcomes = _outage(connect, faulty, store, away=40.0, budget=30.0, told=True)
    assert [type(outcome) for outcome in outcomes] == [DurableStreamUnavailableError] * READERS
