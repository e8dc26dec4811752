"""What ``append_in`` locks until the application's transaction ends: its own topic, and nothing else."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.integration.sql.places import Place, contents

from tailrace import DurableStreamUnavailableError
from tailrace.testing.reading import Background

PROMPTLY = 2.5
"""Seconds that an append to a topic which nobody holds may take here, at most: MySQL has no shorter wait than one."""


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


def test_a_topic_that_was_deleted_is_begun_again_and_others_begin_theirs_meanwhile(place: Place) -> None:
    client, connection = place.client(), place.connection()
    client.topic("t").append_in(connection, [b"first life"])
    connection.commit()
    # The last one that was begun: nothing comes after it.
    assert place.client().maintenance.delete("t") is True
    client.topic("t").append_in(connection, [b"second life"])
    assert from_another_process(place, "new") < PROMPTLY
    connection.commit()
    assert contents(client, "t") == [b"second life"]


class Interposed:
    """A connection, or a cursor of it, on which something happens just before the topic is locked."""

    def __init__(self, inner: Any, first: list[Callable[[], object]]) -> None:
        self._inner = inner
        self._first = first

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def cursor(self) -> Any:
        return Interposed(self._inner.cursor(), self._first)

    def execute(self, statement: str) -> Any:
        if "FOR UPDATE" in statement or "FOR NO KEY UPDATE" in statement:
            while self._first:
                self._first.pop()()
        return self._inner.execute(statement)


def test_a_topic_that_is_deleted_in_between_is_told_or_begun_again_and_stored_in_no_case_twice(place: Place) -> None:
    client, connection = place.client(), place.connection()
    client.topic("t").append(b"first life")
    meddled = Interposed(connection, [lambda: place.client().maintenance.delete("t")])
    if place.postgres:
        client.topic("t").append_in(meddled, [b"x"])
        connection.commit()
        assert contents(client, "t") == [b"x"]
        return
    with pytest.raises(DurableStreamUnavailableError, match="roll back, and run it again") as caught:
        client.topic("t").append_in(meddled, [b"x"])
    assert not caught.value.maybe_stored
    connection.rollback()
    client.topic("t").append_in(connection, [b"x"])
    connection.commit()
    assert contents(client, "t") == [b"x"]
