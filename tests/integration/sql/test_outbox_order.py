"""Readers of what applications append in transactions of their own: one order, everything, and before it is too old."""

import threading
import time
from typing import Any

import pytest
from tests.integration.sql.places import Place

import tailrace
from tailrace import Retention, spi
from tailrace.testing.reading import Background, payloads, take


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
