"""Schemas and prefixes of any name, and stores of several prefixes that share a schema."""

import threading
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

import tailrace
from tailrace import Retention, spi
from tailrace.testing.reading import Background, payloads, take
from tailrace.testing.servers.postgres import PostgresServer


@pytest.fixture
def database(server: PostgresServer) -> Iterator[str]:
    name = server.create_database()
    yield name
    server.drop_database(name)


@pytest.mark.parametrize(
    ("schema", "prefix"),
    [
        ("100%b", ""),
        ("a%", "%s_%(name)b"),
        ("{topics}", "{key}?"),
        ('it\'s "Ünï"', "\\x"),
        ("s" * 40, "p" * 40),
    ],
)
def test_whatever_a_schema_and_a_prefix_are_called_all_works(
    server: PostgresServer, database: str, schema: str, prefix: str
) -> None:
    url = server.url(database, schema=schema, prefix=prefix)
    limits = {"limited": Retention(max_records=1)}
    with (
        closing(tailrace.connect(url, create=True, topic_retention=limits)) as client,
        closing(psycopg.connect(server.url(database))) as connection,
        client.topic("t").subscribe_from_tail() as live,
    ):
        client.topic("t").append_many([b"1", b"2"])
        for topic in ("t", "new"):
            client.topic(topic).append_in(connection, [b"3"])
        connection.commit()
        assert payloads(take(live, 3)) == [b"1", b"2", b"3"]
        client.topic("limited").append_many([b"x"] * 9)
        client.topic("new").seal(error="over")
        client.maintenance.sweep(spi.SweepBudget())
        assert client.maintenance.delete("t") is True
        assert {info.name: info.records for info in client.maintenance.topics()} == {"limited": 1, "new": 1}


def test_stores_of_several_prefixes_that_come_at_once_make_their_schema_once(
    server: PostgresServer, database: str
) -> None:
    together = threading.Barrier(5)

    def one(number: int) -> None:
        url = server.url(database, schema="shared", prefix=f"p{number}_")
        together.wait(20)
        with closing(tailrace.connect(url, create=True)) as client:
            client.topic("t").append(b"x")

    for thread in [Background(lambda n=n: one(n)) for n in range(5)]:  # type: ignore[misc]
        thread.result(30)
