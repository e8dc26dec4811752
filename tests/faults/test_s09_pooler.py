"""S09 behind a pooler that lends connections by transaction: no hint can come, everything works, and stats say so."""

import time
from collections.abc import Iterator

import pytest
from tests.postgres_server import postgres_server

import tailrace
from tailrace.records import CLOSED
from tailrace.spi import SweepBudget
from tailrace.testing.reading import Background, numbered, payloads, take
from tailrace.testing.servers.postgres import PgBouncer, PostgresServer

FEW = 4


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        tailrace.connect(server.url(), create=True).close()
        yield server


@pytest.fixture(scope="module")
def url(server: PostgresServer) -> Iterator[str]:
    """Through a pooler that has fewer connections than there are threads that work."""
    with PgBouncer(server, settings={"default_pool_size": FEW}) as pooler:
        yield pooler.url()


def test_s09_everything_works_and_stats_say_that_hints_do_not_arrive(url: str) -> None:
    with tailrace.connect(url, forget_after=0.001) as streams, tailrace.connect(url) as elsewhere:
        topic = streams.topic("t")
        with topic.subscribe_from_tail() as live:
            for payload in numbered(20):
                started = time.monotonic()
                elsewhere.topic("t").append(payload)
                assert payloads(take(live, 1)) == [payload]
                assert time.monotonic() - started < 2
            assert streams.stats()["hints_arrive"] is False
            elsewhere.topic("t").append_many(numbered(480, 20))
            assert payloads(take(live, 480)) == numbered(480, 20)
            elsewhere.topic("t").seal(error="done")
            assert live.receive(timeout=5) is CLOSED
        assert elsewhere.maintenance.trim("t", tailrace.Retention(max_records=10)) == 490
        with topic.subscribe_from_beginning() as again:
            assert payloads(take(again, 10)) == numbered(10, 490)
        streams.maintenance.sweep(SweepBudget())
        assert elsewhere.maintenance.delete("t") is True


def test_s09_more_writers_than_the_pooler_has_connections_are_stored_once_each(url: str) -> None:
    with tailrace.connect(url) as streams:
        names = [f"many-{number}" for number in range(4 * FEW)]

        def write(name: str) -> None:
            for payload in numbered(50):
                streams.topic(name).append(payload)

        for one in [Background(lambda name=name: write(name)) for name in names]:  # type: ignore[misc]
            one.result()
        for name in names:
            with streams.topic(name).subscribe_from_beginning() as subscription:
                assert payloads(take(subscription, 50)) == numbered(50)
                assert subscription.receive(timeout=0) is None
