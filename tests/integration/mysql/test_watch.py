"""The watch of MySQL finds what moved by asking: soon while things move, and at little cost while nothing does."""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.integration.mysql.stores import opened, stored

from tailrace import spi
from tailrace.backends.mysql import MysqlStore, looking
from tailrace.errors import DurableStreamUnavailableError
from tailrace.retention import Retention
from tailrace.testing.servers.mariadb import MariadbServer

PATIENCE = 10.0


@pytest.fixture
def store(server: MariadbServer, database: str) -> Iterator[MysqlStore]:
    with opened(server.url(database)) as store:
        yield store


@pytest.fixture
def watch(store: MysqlStore) -> Iterator[spi.Watch]:
    with closing(store.watch()) as watch:
        yield watch


def moved(watch: spi.Watch, within: float = PATIENCE) -> frozenset[str]:
    """Return the first topics that the watch names."""
    deadline = time.monotonic() + within
    while (left := deadline - time.monotonic()) > 0:
        changes = watch.wait(left)
        if changes.topics:
            return changes.topics
    return frozenset()


def test_appends_seals_trims_and_deletions_of_followed_topics_are_told(store: MysqlStore, watch: spi.Watch) -> None:
    watch.follow(["t"], [])
    stored(store, "t", b"1", b"2")
    assert moved(watch) == {"t"}
    assert store.trim("t", Retention(max_records=1)) == 1
    assert moved(watch) == {"t"}
    store.seal("t", None)
    assert moved(watch) == {"t"}
    assert store.delete("t")
    assert moved(watch) == {"t"}


def test_others_topics_and_what_is_followed_no_more_are_not_told(store: MysqlStore, watch: spi.Watch) -> None:
    watch.follow(["t", "gone"], [])
    watch.follow([], ["gone"])
    stored(store, "gone", b"1")
    stored(store, "other", b"1")
    stored(store, "t", b"1")
    assert moved(watch) == {"t"}


def test_a_change_is_told_once(store: MysqlStore, watch: spi.Watch) -> None:
    watch.follow(["t"], [])
    stored(store, "t", b"1")
    assert moved(watch) == {"t"}
    # For longer than looks go back, and than it takes until heads are compared.
    assert moved(watch, looking.GRACE + 2 * looking.HEADS_EVERY) == frozenset()


def test_a_transaction_that_stays_open_for_longer_than_looks_go_back_is_told(
    server: MariadbServer, database: str, store: MysqlStore, watch: spi.Watch
) -> None:
    stored(store, "t", b"1")
    watch.follow(["t"], [])
    assert moved(watch, 1.5 * looking.GRACE) <= {"t"}
    with closing(server.connect(database)) as outside, outside.cursor() as cursor:
        cursor.execute("BEGIN")
        # As an append would, but stamped long ago.
        cursor.execute("UPDATE tailrace_topics SET last_position = last_position + 1, changed_at = changed_at + 1")
        cursor.execute("COMMIT")
    assert moved(watch) == {"t"}


def test_an_interrupt_ends_a_wait_and_a_lost_server_fails_it(server: MariadbServer, watch: spi.Watch) -> None:
    watch.follow(["t"], [])
    watch.interrupt()
    began = time.monotonic()
    assert watch.wait(60.0) == spi.Changes()
    assert time.monotonic() - began < 30.0
    server.restart()
    with pytest.raises(DurableStreamUnavailableError):
        moved(watch)


def test_ten_thousand_idle_topics_cost_one_statement_at_each_look(
    server: MariadbServer, store: MysqlStore, watch: spi.Watch
) -> None:
    topics = [f"idle:{number}" for number in range(10_000)]
    watch.follow(topics, [])
    assert moved(watch, 0.5) == frozenset()
    before = questions(server)
    began = time.monotonic()
    assert moved(watch, 3.0) == frozenset()
    seconds = time.monotonic() - began
    # One of each look, ten a second when nothing moves, one more each second, and our own question.
    assert questions(server) - before <= 10 * seconds + 2 * seconds + 10
    stored(store, "idle:77", b"x")
    assert moved(watch) == {"idle:77"}


def questions(server: MariadbServer) -> int:
    """Return how many statements the server has run."""
    ((_, number),) = server.execute("SHOW GLOBAL STATUS LIKE 'Questions'")
    return int(number)
