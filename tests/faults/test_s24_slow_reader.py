"""S24: readers that are slow, or stand still, cost bounded memory, delay nobody, and lose nothing."""

import gc
import time

import pytest

from tailrace.records import DurableStreamRecord
from tailrace.retention import Retention
from tailrace.testing.drivers import Subscription
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import PATIENCE, Background, read_until_lost, refused, take

SIZE = 4096
BUFFER = 64
PAGE = 32
KEEP_TEN = Retention(max_records=10)


def _payload(number: int) -> bytes:
    return b"%08d" % number * (SIZE // 8)


def _read(subscription: Subscription, count: int, patience: float) -> tuple[bool, float]:
    """Read quickly; return whether all was in order, and when the last record came."""
    deadline, found = time.monotonic() + patience, 0
    while found < count and time.monotonic() < deadline:
        answer = subscription.receive(timeout=1.0)
        if isinstance(answer, DurableStreamRecord):
            if answer.payload != _payload(found):
                return False, 0.0
            found += 1
    return found == count, time.monotonic()


def _held() -> int:
    gc.collect()
    return sum(isinstance(each, DurableStreamRecord) for each in gc.get_objects())


@pytest.mark.parametrize(
    ("fast", "records", "stall"),
    [
        pytest.param(20, 400, 0.5, id="scaled-down"),
        pytest.param(200, 2000, 60.0, id="full", marks=pytest.mark.long),
    ],
)
def test_slow_and_stalled_readers_beside_fast_ones(
    connect: Connect, name: str, fast: int, records: int, stall: float
) -> None:
    client = connect(buffer_records=BUFFER, page_records=PAGE)
    topic, writer = client.topic(name), connect().topic(name)
    slow, stalled = topic.subscribe_from_tail().__enter__(), topic.subscribe_from_tail().__enter__()
    quick = [topic.subscribe_from_tail().__enter__() for _ in range(fast)]
    patience = PATIENCE + records / 10
    before = _held()
    reading = [Background(lambda one=one: _read(one, records, patience)) for one in quick]  # type: ignore[misc]
    slowly: list[bytes] = []
    slowest = 0.0
    for number in range(records):
        started = time.monotonic()
        writer.append(_payload(number))
        slowest = max(slowest, time.monotonic() - started)
        if number % 100 == 99:
            slowly += [record.payload for record in take(slow, 1)]
    written = time.monotonic()
    for one in reading:
        exact, finished = one.result(patience)
        assert exact
        assert finished - written < stall / 2 + 10
    assert slowest < 5
    # Everybody fast is done, so what is held now is held for the two slow ones: records are shared
    # among readers, and each of the two may hold its buffer and a page.
    assert _held() - before <= 2 * (BUFFER + 2 * PAGE)
    time.sleep(stall)
    slowly += [record.payload for record in take(slow, records - len(slowly))]
    assert slowly == [_payload(number) for number in range(records)]
    assert [record.payload for record in take(stalled, records)] == slowly
    for subscription in (slow, stalled, *quick):
        subscription.close()


def test_a_stalled_reader_does_not_keep_a_retention_from_taking_what_it_may(connect: Connect, name: str) -> None:
    topic = connect(buffer_records=8, page_records=8).topic(name)
    with topic.subscribe_from_tail() as stalled:
        topic.append_many([_payload(number) for number in range(100)])
        take(stalled, 1)
        assert connect().maintenance.trim(name, KEEP_TEN) == 90
        with topic.subscribe_from_beginning() as other:
            assert [record.payload for record in take(other, 10)] == [_payload(number) for number in range(90, 100)]


def test_a_laggard_is_told_before_the_hole_and_can_resume_where_it_can_go_on(connect: Connect, name: str) -> None:
    topic = connect(buffer_records=8, page_records=8).topic(name)
    with topic.subscribe_from_tail() as laggard:
        topic.append_many([_payload(number) for number in range(100)])
        take(laggard, 2)
        connect().maintenance.trim(name, KEEP_TEN)
        found = read_until_lost(laggard)
    assert found == [_payload(number) for number in range(2, 2 + len(found))]
    refused(topic, laggard.cursor)
    with topic.subscribe_from_beginning() as again:
        assert [record.payload for record in take(again, 10)] == [_payload(number) for number in range(90, 100)]
