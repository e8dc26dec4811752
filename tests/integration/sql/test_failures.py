"""Where something goes wrong halfway, or somebody has locked what is needed: of ``append_in``, what is left in the
transaction, in the process and in its log; of a deletion and a sweep, what is left for later.
"""

import os
import traceback
import tracemalloc
from contextlib import closing
from typing import Any

import psycopg
import pytest
from sqlalchemy.orm import Session
from tests.integration.sql.places import Place, contents, order

import tailrace
from tailrace import DurableStreamUnavailableError, InvalidArgumentError, Retention, spi
from tailrace.testing.servers.postgres import PostgresServer

LARGE = 400_000
"""Bytes of payloads of which each takes a statement of its own, where several go into one."""


def rows_of(place: Place) -> str:
    """Return the table of records."""
    return "tailrace.records" if place.postgres else "tailrace_records"


def only_topic(place: Place) -> int:
    """Return what the rows of its records have of it."""
    topics = "tailrace.topics" if place.postgres else "tailrace_topics"
    ((topic_id,),) = place.server.execute(f"SELECT id FROM {topics}", database=place.name)
    return int(topic_id)


def block(place: Place, position: int) -> Any:
    """Keep a position of the only topic from being written, until the connection that is returned is rolled back."""
    topic_id = only_topic(place)
    connection = place.connection()
    values = "now(), 1, 'x'" if place.postgres else "1, 1, 1, 'x'"
    columns = "at, tag, payload" if place.postgres else "at, tag, size, payload"
    with closing(connection.cursor()) as cursor:
        cursor.execute(
            f"INSERT INTO {rows_of(place)} (topic_id, position, {columns}) VALUES ({topic_id}, {position}, {values})"
        )
    return connection


def left(place: Place) -> int:
    """Count the rows of records, whether anybody can read them or not."""
    ((count,),) = place.server.execute(f"SELECT count(*) FROM {rows_of(place)}", database=place.name)
    return int(count)


def lock_one(place: Place, topic_id: int, position: int) -> Any:
    """Keep a record locked, until the connection that is returned is rolled back."""
    connection = place.connection()
    with closing(connection.cursor()) as cursor:
        where = f"topic_id = {topic_id} AND position = {position}"
        cursor.execute(f"SELECT 1 FROM {rows_of(place)} WHERE {where} FOR UPDATE")
        assert len(cursor.fetchall()) == 1
    return connection


def test_one_that_fails_halfway_leaves_nothing_even_if_the_application_commits(place: Place) -> None:
    client, connection = place.client(append_timeout=1.5), place.connection()
    client.topic("t").append(b"0")
    blocking = block(place, position=3)
    order(connection)
    with pytest.raises(DurableStreamUnavailableError):
        client.topic("t").append_in(connection, [b"x" * LARGE, b"y" * LARGE])
    # Against all advice. PostgreSQL makes a rollback of it.
    connection.commit()
    blocking.rollback()
    client.topic("t").append(b"1")
    assert contents(client, "t") == [b"0", b"1"]
    assert place.orders() == (0 if place.postgres else 1)


def test_what_can_not_be_cut_from_a_full_topic_is_no_reason_to_refuse(place: Place) -> None:
    client, connection = place.client(retention=Retention(max_records=4), append_timeout=1.5), place.connection()
    client.topic("t").append_in(connection, [b"%d" % number for number in range(8)])
    connection.commit()
    holding = lock_one(place, only_topic(place), 1)
    client.topic("t").append_in(connection, [b"8"])
    connection.commit()
    holding.rollback()
    assert contents(client, "t")[-1] == b"8"


class Taciturn:
    """A connection that commits each statement, of a driver that does not tell whether a transaction is open."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.cursor = inner.cursor

    def autocommit(self, value: bool) -> None:
        raise AssertionError

    def get_autocommit(self) -> bool:
        return True

    def commit(self) -> None:
        raise AssertionError


def test_where_the_driver_does_not_tell_the_server_is_asked_whether_a_transaction_is_open(place: Place) -> None:
    if place.postgres:
        pytest.skip("its drivers tell")
    client, connection = place.client(), place.connection(autocommit=True)
    with pytest.raises(InvalidArgumentError, match="no transaction is open"):
        client.topic("t").append_in(Taciturn(connection), [b"x"])
    assert contents(client, "t") == []
    connection.begin()
    client.topic("t").append_in(Taciturn(connection), [b"x"])
    assert contents(client, "t") == []
    connection.commit()
    assert contents(client, "t") == [b"x"]


def test_a_refused_connection_to_another_database_is_left_as_it_was(place: Place) -> None:
    client, connection = place.client(), place.connection(place.other_database())
    look = "SHOW lock_timeout" if place.postgres else "SELECT @@innodb_lock_wait_timeout"
    with closing(connection.cursor()) as cursor:
        cursor.execute(look)
        before = cursor.fetchone()
        with pytest.raises(InvalidArgumentError):
            client.topic("t").append_in(connection, [b"x"])
        cursor.execute(look)
        assert cursor.fetchone() == before


def test_no_payload_is_in_what_a_log_says_of_a_failure(place: Place) -> None:
    client = place.client(append_timeout=1.5)
    client.topic("t").append(b"0")
    blocking, payload = block(place, position=2), os.urandom(9)
    with Session(place.engine()) as session:
        with pytest.raises(DurableStreamUnavailableError) as caught:
            client.topic("t").append_in(session, [payload])
        said = "".join(traceback.format_exception(caught.value))
        session.rollback()
    blocking.rollback()
    assert "append_in" in said
    assert payload.hex() not in said.lower()


@pytest.mark.parametrize("through", ["psycopg", "SQLAlchemy"])
def test_the_driver_keeps_no_statement_with_payloads_in_memory(place: Place, through: str) -> None:
    if not place.postgres:
        pytest.skip("only psycopg keeps statements")
    client = place.client()
    with closing(place.connection() if through == "psycopg" else place.engine().connect()) as connection:
        client.topic("t").append_in(connection, [b"x"])
        connection.commit()
        tracemalloc.start()
        try:
            for _ in range(4):
                client.topic("t").append_in(connection, [os.urandom(2**20)])
                connection.commit()
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        driver = connection if isinstance(connection, psycopg.Connection) else connection.connection.driver_connection
        assert driver.prepare_threshold == 5
    # One statement has two bytes for each of a payload.
    assert kept < 2**20


def test_a_database_without_an_encoding_is_recognised(place: Place) -> None:
    server = place.server
    if not isinstance(server, PostgresServer):
        pytest.skip("there is always one")
    # Its drivers give bytes where others give text.
    name = f"{place.name}_bytes"
    server.execute(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    url = server.url(name)
    with closing(tailrace.connect(url, create=True)) as client, closing(psycopg.connect(url)) as connection:
        client.topic("t").append_in(connection, [b"x"])
        connection.commit()
        assert contents(client, "t") == [b"x"]
    server.drop_database(name)


def test_records_that_are_locked_are_passed_by_deletions_and_sweeps_and_go_when_they_are_let_go(place: Place) -> None:
    operations = place.client().maintenance
    place.client().topic("held").append_many([b"x"] * 5)
    holding = lock_one(place, only_topic(place), 2)
    place.client().topic("other").append_many([b"x"] * 5)
    assert operations.delete("held") is True
    assert operations.delete("other") is True
    assert left(place) == 5
    assert operations.sweep(spi.SweepBudget()).done is False
    holding.rollback()
    assert operations.sweep(spi.SweepBudget()).done is True
    assert left(place) == 0
