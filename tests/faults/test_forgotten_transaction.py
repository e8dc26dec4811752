"""A transaction that somebody forgot elsewhere holds a transaction id or a snapshot, and delays nobody here."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from tests.faults.running import SQL, Running, running

import tailrace
from tailrace.records import CLOSED
from tailrace.spi import SweepBudget
from tailrace.testing.reading import numbered, payloads, take
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer

SOON = 3.0


@pytest.fixture(params=SQL)
def there(request: pytest.FixtureRequest) -> Iterator[Running]:
    with running(request.param) as there:
        yield there


@contextmanager
def forgotten(server: object) -> Iterator[None]:
    """Write into another table of the same database, look at ours, and do not end that transaction."""
    if isinstance(server, PostgresServer):
        with closing(server.connect()) as holder:
            holder.execute("CREATE TABLE elsewhere (x int)")
            holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            holder.execute("INSERT INTO elsewhere VALUES (1)")
            holder.execute("SELECT count(*) FROM tailrace.topics")
            asked = "SELECT state FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()"
            assert server.execute(asked) == [("idle in transaction",)]
            yield
            holder.execute("ROLLBACK")
        return
    assert isinstance(server, MariadbServer)
    with closing(server.connect("events")) as holder, holder.cursor() as cursor:
        cursor.execute("CREATE TABLE elsewhere (x int)")
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO elsewhere VALUES (1)")
        cursor.execute("SELECT count(*) FROM tailrace_topics")
        asked = "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_rows_modified > 0"
        assert server.execute(asked) == [(1,)]
        yield
        cursor.execute("ROLLBACK")


def test_a_forgotten_transaction_elsewhere_delays_nobody(there: Running) -> None:
    with (
        tailrace.connect(there.url, forget_after=0.001) as streams,
        tailrace.connect(there.url) as elsewhere,
        forgotten(there.server),
    ):
        topic = streams.topic("t")
        took: list[float] = []
        with topic.subscribe_from_tail() as live:
            for payload in numbered(50):
                started = time.monotonic()
                elsewhere.topic("t").append(payload)
                assert payloads(take(live, 1)) == [payload]
                took.append(time.monotonic() - started)
            assert max(took) < SOON
            started = time.monotonic()
            assert elsewhere.maintenance.trim("t", tailrace.Retention(max_records=10)) == 40
            with topic.subscribe_from_beginning() as late:
                assert payloads(take(late, 10)) == numbered(10, 40)
            elsewhere.topic("t").seal()
            assert live.receive(timeout=5) is CLOSED
            elsewhere.topic("idle").append(b"x")
            elsewhere.maintenance.trim("idle", tailrace.Retention(max_records=0))
            assert streams.maintenance.sweep(SweepBudget()).forgotten == 1
            assert elsewhere.maintenance.delete("t") is True
            elsewhere.topic("t").append(b"another life")
            with topic.subscribe_from_beginning() as again:
                assert payloads(take(again, 1)) == [b"another life"]
            assert time.monotonic() - started < 5 * SOON
