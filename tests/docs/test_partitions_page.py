"""The page on partitions: its SQL is run with the real extension, and readers are told exactly what was dropped."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.blocks import blocks

import tailrace
from tailrace import CursorUnavailableError, spi
from tailrace.testing.outcome import not_run
from tailrace.testing.reading import numbered, payloads, read_all, take
from tailrace.testing.servers.postgres import PostgresServer, flavour

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "postgres-partitions.md"
PARTITION, EXPIRE, CALL = (block.body for block in blocks(PAGE.read_text("utf-8")) if block.language == "sql")


class Partitioned:
    """A database with the page's tables in it, and an operator's hands on it."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.name = server.create_database()
        self.url = server.url(self.name)
        with tailrace.connect(self.url, create=True) as streams:
            streams.topic("before").append_many(numbered(3))
            self.days_ago("before", 3, after=0)
        self.execute(PARTITION)
        self.execute(EXPIRE)

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        return self.server.execute(statement, database=self.name)

    def days_ago(self, topic: str, days: int, *, after: int) -> None:
        """Let the records after a position be as old as that, as if they had been appended then."""
        name = f"decode('{topic.encode().hex()}', 'hex')"
        of = f"(SELECT id FROM tailrace.topics WHERE name = {name})"
        self.execute(
            f"UPDATE tailrace.records SET at = at - interval '{days} days' WHERE topic_id = {of} AND position > {after}"
        )
        first = f"(SELECT min(at) FROM tailrace.records WHERE topic_id = {of})"
        self.execute(f"UPDATE tailrace.topics SET first_at = {first} WHERE id = {of}")

    def partitions(self) -> list[str]:
        found = self.execute("SELECT c.oid::regclass::text FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid")
        return sorted(str(name) for (name,) in found)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer(flavour("postgres-15")) as server:
        if not server.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_partman'"):
            not_run("no pg_partman here: run `make servers`")
        yield server


@pytest.fixture
def there(server: PostgresServer) -> Iterator[Partitioned]:
    there = Partitioned(server)
    yield there
    server.drop_database(there.name)


def aged(there: Partitioned, streams: tailrace.StreamClient, topic: str) -> None:
    """Append 4 records 20 days ago, 3 two days ago, and 2 now."""
    streams.topic(topic).append_many(numbered(4))
    there.days_ago(topic, 18, after=0)
    streams.topic(topic).append_many(numbered(3, 4))
    there.days_ago(topic, 2, after=0)
    streams.topic(topic).append_many(numbered(2, 7))


def test_the_table_is_partitioned_with_what_was_in_it(there: Partitioned) -> None:
    with tailrace.connect(there.url) as streams:
        assert read_all(streams.topic("before").subscribe_from_beginning(), 3) == numbered(3)
        streams.topic("before").append(b"3")
        assert read_all(streams.topic("before").subscribe_from_beginning(), 4) == numbered(4)
        assert len(there.partitions()) >= 5
        sizes = streams.maintenance.examine().sizes
        assert sizes["table records"] > 8192


def test_what_is_dropped_is_told_and_nothing_else_is_lost(there: Partitioned) -> None:
    with tailrace.connect(there.url) as streams:
        aged(there, streams, "t")
        streams.topic("old").append_many(numbered(5))
        there.days_ago("old", 20, after=0)
        streams.topic("sealed").append(b"x")
        streams.topic("sealed").seal()
        there.days_ago("sealed", 20, after=0)
        # As they would have been made day by day.
        there.execute("CALL partman.partition_data_proc('tailrace.records')")
        oldest = there.partitions()
        with streams.topic("t").subscribe_from_beginning() as subscription:
            cursors = [record.cursor for record in take(subscription, 9)]
        there.execute(CALL)
        # Not by their number: in the second half of a day it makes one more for the days to come.
        assert set(oldest) - set(there.partitions())
        kept = there.execute("SELECT count(*) FROM tailrace.records WHERE at < now() - interval '8 days'")
        assert kept == [(0,)]
        # After the second record: the third is gone. After the fourth: nothing that was wanted is.
        with pytest.raises(CursorUnavailableError):
            streams.topic("t").subscribe_from_cursor(cursors[1]).__enter__()
        assert read_all(streams.topic("t").subscribe_from_cursor(cursors[3]), 5) == numbered(5, 4)
        assert read_all(streams.topic("t").subscribe_from_cursor(cursors[6]), 2) == numbered(2, 7)
        assert read_all(streams.topic("t").subscribe_from_beginning(), 5) == numbered(5, 4)
        infos = {info.name: (info.records, info.bytes) for info in streams.maintenance.topics()}
        assert infos == {"before": (3, 3), "t": (5, 5), "old": (0, 0), "sealed": (0, 0)}
        streams.topic("old").append(b"another")
        assert read_all(streams.topic("old").subscribe_from_beginning(), 1) == [b"another"]
        with streams.topic("sealed").subscribe_from_beginning() as ended:
            assert ended.receive(timeout=5) is tailrace.CLOSED
        assert streams.maintenance.sweep(spi.SweepBudget()).done


def test_nothing_is_dropped_while_a_topic_that_is_held_begins_there(there: Partitioned) -> None:
    with tailrace.connect(there.url) as streams:
        aged(there, streams, "held")
        there.execute("CALL partman.partition_data_proc('tailrace.records')")
        before = there.partitions()
        with there.server.connect(there.name) as connection, connection.transaction():
            connection.execute("SELECT 1 FROM tailrace.topics WHERE name = 'held' FOR UPDATE")
            there.execute(CALL)
            assert there.partitions() == before
            with streams.topic("held").subscribe_from_beginning() as subscription:
                assert payloads(take(subscription, 9)) == numbered(9)
        there.execute(CALL)
        assert set(before) - set(there.partitions())
        assert read_all(streams.topic("held").subscribe_from_beginning(), 5) == numbered(5, 4)


def test_limits_and_deletion_work_as_on_one_table(there: Partitioned) -> None:
    with tailrace.connect(there.url) as streams:
        aged(there, streams, "t")
        assert streams.maintenance.trim("t", tailrace.Retention(max_records=3)) == 6
        assert read_all(streams.topic("t").subscribe_from_beginning(), 3) == numbered(3, 6)
        assert streams.maintenance.delete("t") is True
        assert there.execute("SELECT count(*) FROM tailrace.records WHERE position > 3") == [(0,)]
