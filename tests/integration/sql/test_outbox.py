"""Records that are part of an application's transaction: stored with its commit, and never were with its rollback."""

import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import Any

import psycopg
import pytest
from tests.integration.sql.places import Place, contents, order

import tailrace
from tailrace import DurableStreamUnavailableError, InvalidArgumentError, Retention, TopicSealedError, spi
from tailrace.testing.reading import Background, payloads, take

PROMPTLY = 2.5
"""Seconds that an append to a topic which nobody holds may take here, at most: MySQL has no shorter wait than one."""


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
    if place.postgres:
        with pytest.raises(InvalidArgumentError, match="another database"):
            client.topic("t").append_in(other, [b"x"])
        empty = place.connection("postgres")
        with pytest.raises(InvalidArgumentError, match="another database"):
            client.topic("t").append_in(empty, [b"x"])
    else:
        # Another database of the same server is at hand there, and the store's own is named.
        client.topic("t").append_in(other, [b"b"])
        other.commit()
        assert contents(client, "t") == [b"a", b"b"]


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


@pytest.mark.parametrize("known", [True, False], ids=["known", "new"])
def test_a_long_transaction_delays_its_own_topic_and_no_other(place: Place, known: bool) -> None:
    client, connection = place.client(append_timeout=30.0), place.connection()
    if known:
        client.topic("held").append(b"0")
    client.topic("held").append_in(connection, [b"1"])
    waiting = Background(lambda: client.topic("held").append(b"2"))
    place.until_somebody_waits()
    for number in range(5):
        began = time.monotonic()
        client.topic(f"free{number}").append(b"x")
        client.topic("free0").append(b"x")
        assert time.monotonic() - began < 2 * PROMPTLY
    assert from_another_process(place, "free0") < PROMPTLY
    assert waiting.running
    connection.commit()
    waiting.result()
    assert contents(client, "held") == [b"0", b"1", b"2"][not known :]


def from_another_process(place: Place, topic: str) -> float:
    """Append from there; return the seconds that it took, without the start of the process."""
    program = (
        "import sys, time, tailrace\n"
        "with tailrace.connect(sys.argv[1]) as client:\n"
        "    began = time.monotonic()\n"
        "    client.topic(sys.argv[2]).append(b'from another process')\n"
        "    print(time.monotonic() - began)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, place.url, topic], capture_output=True, text=True, timeout=60, check=True
    )
    return float(done.stdout)


def test_an_append_that_runs_out_of_time_before_a_held_topic_is_told_as_not_stored(place: Place) -> None:
    client, connection = place.client(append_timeout=1.5), place.connection()
    client.topic("t").append_in(connection, [b"1"])
    with pytest.raises(DurableStreamUnavailableError) as caught:
        client.topic("t").append(b"2")
    assert not caught.value.maybe_stored
    other = place.connection()
    with pytest.raises(DurableStreamUnavailableError) as caught:
        client.topic("t").append_in(other, [b"3"])
    assert not caught.value.maybe_stored
    other.rollback()
    connection.commit()
    assert contents(client, "t") == [b"1"]


def test_threads_that_open_new_topics_at_once_all_do(place: Place) -> None:
    client = place.client()
    together = threading.Barrier(16)

    def one(number: int) -> None:
        connection = place.connection()
        together.wait(20)
        for part in range(3):
            client.topic(f"run:{number}:{part}").append_in(connection, [b"x"])
        connection.commit()

    for thread in [Background(lambda n=n: one(n)) for n in range(16)]:  # type: ignore[misc]
        thread.result()
    assert len(client.maintenance.topics()) == 48


def test_s08_what_was_held_for_longer_than_it_is_kept_is_read(place: Place) -> None:
    kept = Retention(max_age=0.3)
    client, connection = place.client(retention=kept, append_timeout=5.0), place.connection()
    done = threading.Event()

    def sweep() -> int:
        rounds = 0
        while not done.wait(0.05):
            client.maintenance.sweep(spi.SweepBudget())
            rounds += 1
        return rounds

    with client.topic("t").subscribe_from_beginning() as subscription:
        sweeping = Background(sweep)
        client.topic("t").append_in(connection, [b"x"])
        time.sleep(1.0)
        connection.commit()
        assert payloads(take(subscription, 1)) == [b"x"]
    done.set()
    assert sweeping.result() > 3


def test_s06_the_order_of_commits_is_the_order_of_every_reader(place: Place) -> None:
    s06(place, seconds=4.0)


@pytest.mark.long
def test_s06_for_a_minute(place: Place) -> None:
    s06(place, seconds=60.0)


def s06(place: Place, seconds: float) -> None:
    """Eight writers with transactions that are held, rolled back and committed, over three topics; three readers."""
    topics = ("a", "b", "c")
    end = time.monotonic() + seconds
    writing = [Background(lambda n=n: _write(place, topics, n, end)) for n in range(8)]  # type: ignore[misc]
    readers = [place.client() for _ in range(3)]
    reading = [
        Background(lambda r=reader, t=topic: _read(r, t))  # type: ignore[misc]
        for topic in topics
        for reader in readers
    ]
    committed = [sent for writer in writing for sent in writer.result(seconds + 60)]
    closing_client = place.client()
    for topic in topics:
        closing_client.topic(topic).seal()
    read = [reader.result(60) for reader in reading]
    for at, topic in enumerate(topics):
        first, second, third = read[3 * at : 3 * at + 3]
        assert first == second == third
        assert sorted(first) == sorted(payload for name, payload in committed if name == topic)
    assert committed


def _write(place: Place, topics: tuple[str, ...], writer: int, end: float) -> list[tuple[str, bytes]]:
    client = place.client()
    connection = place.connection()
    committed: list[tuple[str, bytes]] = []
    number = 0
    while time.monotonic() < end:
        number += 1
        sent = []
        # In one order, or they would wait for each other in a circle.
        for topic in topics[number % 3 :] if writer % 2 else topics[number % 3 :][:1]:
            payload = b"%d:%d" % (writer, number)
            client.topic(topic).append_in(connection, [payload])
            sent.append((topic, payload))
        time.sleep(0.01 * (writer % 3))
        if number % 4 == 0:
            connection.rollback()
        else:
            connection.commit()
            committed += sent
    return committed


def _read(client: tailrace.StreamClient, topic: str) -> list[bytes]:
    found: list[bytes] = []
    with client.topic(topic).subscribe_from_beginning() as subscription:
        while True:
            answer: Any = subscription.receive(timeout=1.0)
            if isinstance(answer, tailrace.DurableStreamRecord):
                found.append(answer.payload)
            elif answer is tailrace.CLOSED:
                return found
