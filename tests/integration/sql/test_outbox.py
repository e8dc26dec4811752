"""Records that are part of an application's transaction: stored with its commit, and never were with its rollback."""

import time
from contextlib import closing

import psycopg
import pytest
from tests.integration.sql.places import Place, contents, order

import tailrace
from tailrace import DurableStreamUnavailableError, InvalidArgumentError, Retention, TopicSealedError
from tailrace.testing.reading import payloads, take
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer


def test_it_is_committed_and_rolled_back_with_the_work_of_the_application(place: Place) -> None:
    client, connection = place.client(), place.connection()
    for end, expected in ((connection.rollback, []), (connection.commit, [b"a", b"b"])):
        order(connection)
        client.topic("t").append_in(connection, [b"a"])
        client.topic("t").append_in(connection, [b"b"])
        assert contents(client, "t") == []
        end()
        assert contents(client, "t") == expected
        assert place.orders() == bool(expected)
    client.topic("t").append(b"c")
    assert contents(client, "t") == [b"a", b"b", b"c"]


def test_a_savepoint_takes_it_back_alone(place: Place) -> None:
    client, connection = place.client(), place.connection()
    client.topic("t").append_in(connection, [b"kept"])
    with closing(connection.cursor()) as cursor:
        cursor.execute("SAVEPOINT mine")
        client.topic("t").append_in(connection, [b"taken back"])
        cursor.execute("ROLLBACK TO SAVEPOINT mine")
    connection.commit()
    assert contents(client, "t") == [b"kept"]


def test_a_reader_at_the_tail_gets_it_after_the_commit_and_never_before(place: Place) -> None:
    client, connection = place.client(), place.connection()
    other = place.client()
    for number in range(3):
        with other.topic("t").subscribe_from_tail() as subscription:
            client.topic("t").append_in(connection, [b"%d" % number])
            assert subscription.receive(timeout=0.5) is None
            connection.commit()
            assert payloads(take(subscription, 1)) == [b"%d" % number]


def test_a_sealed_topic_refuses_and_the_transaction_can_go_on(place: Place) -> None:
    client, connection = place.client(), place.connection()
    client.topic("t").append(b"a")
    client.topic("t").seal()
    order(connection)
    with pytest.raises(TopicSealedError):
        client.topic("t").append_in(connection, [b"b"])
    client.topic("other").append_in(connection, [b"b"])
    connection.commit()
    assert place.orders() == 1
    assert contents(client, "other") == [b"b"]


def test_the_largest_payloads_come_through_whatever_their_bytes(place: Place) -> None:
    client, connection = place.client(), place.connection()
    largest = min(client.capabilities.max_payload, 2**20)
    sent = [b"'" * largest, b"\\" * largest, bytes(range(256)) * 16, b""]
    if not place.postgres:
        with closing(connection.cursor()) as cursor:
            cursor.execute("SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES', time_zone = '-07:00'")
    client.topic("t").append_in(connection, sent)
    connection.commit()
    client.topic("t").append(b"after")
    assert contents(client, "t") == [*sent, b"after"]
    (info,) = client.maintenance.topics()
    assert info.last_append_at is not None
    assert abs(info.last_append_at - time.time()) < 60


def test_limits_hold_to_within_a_sixteenth_though_nothing_else_appends(place: Place) -> None:
    client, connection = place.client(retention=Retention(max_records=32)), place.connection()
    for number in range(100):
        client.topic("t").append_in(connection, [b"%d" % number])
        connection.commit()
    kept = contents(client, "t")
    assert kept == [b"%d" % number for number in range(100 - len(kept), 100)]
    assert 32 <= len(kept) <= 36


def test_the_lock_timeout_of_the_application_is_left_as_it_was(place: Place) -> None:
    look = "SHOW lock_timeout" if place.postgres else "SELECT @@innodb_lock_wait_timeout"
    client, connection = place.client(), place.connection()
    with closing(connection.cursor()) as cursor:
        for setting in ("0", "7s") if place.postgres else ("50", "7"):
            name = "LOCAL lock_timeout" if place.postgres else "SESSION innodb_lock_wait_timeout"
            cursor.execute(f"SET {name} = '{setting}'" if place.postgres else f"SET {name} = {setting}")
            client.topic("t").append_in(connection, [b"x"])
            cursor.execute(look)
            assert str(cursor.fetchone()[0]) == setting


def test_a_connection_to_another_database_or_server_is_refused(place: Place) -> None:
    client = place.client()
    client.topic("t").append(b"a")
    other = place.connection(place.other_database())
    empty = place.connection("postgres" if place.postgres else "mysql")
    for wrong in (other, empty):
        for topic in ("t", "new"):
            with pytest.raises(InvalidArgumentError, match="another database"):
                client.topic(topic).append_in(wrong, [b"x"])
        wrong.rollback()
    with MariadbServer() if isinstance(place.server, MariadbServer) else PostgresServer() as elsewhere:
        elsewhere.create_database(place.name)
        url = elsewhere.url(place.name)
        with closing(tailrace.connect(url, create=True)) as theirs, closing(place.connection(server=elsewhere)) as away:
            theirs.topic("t").append(b"theirs")
            with pytest.raises(InvalidArgumentError, match="to another"):
                client.topic("t").append_in(away, [b"x"])
            away.rollback()
            assert contents(theirs, "t") == [b"theirs"]
    assert contents(client, "t") == [b"a"]


def test_a_statement_that_fails_is_told_as_ours(place: Place) -> None:
    client, connection = place.client(), place.connection()
    connection.close()
    with pytest.raises(DurableStreamUnavailableError) as caught:
        client.topic("t").append_in(connection, [b"x"])
    assert not caught.value.maybe_stored


def test_a_transaction_that_has_failed_is_told(place: Place) -> None:
    if not place.postgres:
        pytest.skip("there a transaction goes on after an error")
    client, connection = place.client(), place.connection()
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT nonsense")
    with pytest.raises(DurableStreamUnavailableError, match="roll it back"):
        client.topic("t").append_in(connection, [b"x"])
