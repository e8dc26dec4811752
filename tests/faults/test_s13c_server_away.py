"""S13c with a real server: it is killed, stays away for a while, and comes back with what it had acknowledged."""

import time
from collections.abc import Iterator

import pytest
from tests.faults.running import KINDS, Running, running

import tailrace
from tailrace.errors import DurableStreamUnavailableError
from tailrace.records import CLOSED, DurableStreamRecord
from tailrace.testing.reading import PATIENCE, Background, numbered

READERS = 8


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    with running(request.param) as server:
        yield server


def poll(subscription: tailrace.Subscription, count: int) -> list[bytes] | Exception:
    """Read with short timeouts only; return what came, or the error that ended it."""
    found: list[bytes] = []
    deadline = time.monotonic() + 2 * PATIENCE
    while len(found) < count and time.monotonic() < deadline:
        try:
            answer = subscription.receive(timeout=0.1)
        except DurableStreamUnavailableError as error:
            assert subscription.receive(timeout=0) is CLOSED
            return error
        assert answer is not CLOSED
        if isinstance(answer, DurableStreamRecord):
            found.append(answer.payload)
    return found


def outage(server: Running, away: float, budget: float) -> list[object]:
    """Let readers wait while the server is away; return what each of them got."""
    with tailrace.connect(server.url, outage_budget=budget) as streams, tailrace.connect(server.url) as writing:
        topics = [f"t{number}" for number in range(READERS)]
        for name in topics:
            writing.topic(name).append_many(numbered(5))
        entered = [streams.topic(name).subscribe_from_beginning().__enter__() for name in topics]
        readers = [Background(lambda one=one: poll(one, 10)) for one in entered]  # type: ignore[misc]
        server.server.kill()
        time.sleep(away)
        server.server.start()
        for name in topics:
            writing.topic(name).append_many(numbered(5, 5))
        outcomes: list[object] = [reader.result(3 * PATIENCE) for reader in readers]
        for one in entered:
            one.close()
        return outcomes


@pytest.mark.parametrize("away", [0.3, pytest.param(5.0, marks=pytest.mark.long)])
def test_readers_go_on_by_themselves_after_a_short_outage(server: Running, away: float) -> None:
    assert outage(server, away, budget=30.0) == [numbered(10)] * READERS


@pytest.mark.parametrize(("away", "budget"), [(1.5, 0.5), pytest.param(40.0, 30.0, marks=pytest.mark.long)])
def test_readers_are_told_of_a_long_one(server: Running, away: float, budget: float) -> None:
    outcomes = outage(server, away, budget)
    assert [type(outcome) for outcome in outcomes] == [DurableStreamUnavailableError] * READERS
