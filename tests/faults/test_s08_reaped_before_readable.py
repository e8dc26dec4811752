"""S08: age counts from when a record became readable, so no sweep takes what nobody could have read yet."""

import sqlite3
import threading
import time
from contextlib import closing

from tailrace import spi
from tailrace.retention import Retention
from tailrace.testing.builtin import SqliteUnderTest
from tailrace.testing.drivers import Client
from tailrace.testing.faults import FaultyBackend, Pause
from tailrace.testing.fixtures import Connect
from tailrace.testing.outcome import not_run
from tailrace.testing.reading import Background, numbered, payloads, take
from tailrace.testing.stores import StoreUnderTest

KEPT_FOR = 0.2
KEPT = Retention(max_age=KEPT_FOR)
GRACE = 1.0


def _sweeping(client: Client, until: threading.Event) -> Background[int]:
    def sweep() -> int:
        sweeps = 0
        while not until.wait(0.02):
            client.maintenance.sweep(spi.SweepBudget())
            sweeps += 1
        return sweeps

    return Background(sweep)


def test_a_live_reader_gets_every_record_though_a_sweeper_never_rests(connect: Connect, name: str) -> None:
    writer, sweeper = connect(retention=KEPT, append_timeout=GRACE), connect(retention=KEPT, append_timeout=GRACE)
    done = threading.Event()
    with connect().topic(name).subscribe_from_tail() as subscription:
        sweeping = _sweeping(sweeper, done)
        number, started = 0, time.monotonic()
        while time.monotonic() - started < 4 * KEPT_FOR:
            writer.topic(name).append(b"%d" % number)
            assert payloads(take(subscription, 1)) == [b"%d" % number]
            number += 1
        done.set()
        assert sweeping.result() > 0


def test_an_append_that_is_held_up_for_longer_than_records_are_kept_is_read(
    connect: Connect, faulty: FaultyBackend, name: str
) -> None:
    sweeper = connect(retention=KEPT, append_timeout=GRACE)
    done = threading.Event()
    topic = connect(faulty, append_timeout=GRACE * 3).topic(name)
    with connect().topic(name).subscribe_from_tail() as subscription:
        sweeping = _sweeping(sweeper, done)
        faulty.next("append", Pause(0.5), times=2)
        topic.append_many(numbered(3))
        assert payloads(take(subscription, 3)) == numbered(3)
        topic.append_many(numbered(3, 3))
        assert payloads(take(subscription, 3)) == numbered(3, 3)
        done.set()
        assert sweeping.result() > 0


def test_an_append_that_waits_for_a_lock_for_longer_than_records_are_kept_is_read(
    connect: Connect, name: str, store: StoreUnderTest
) -> None:
    if not isinstance(store, SqliteUnderTest):
        not_run("only SQLite has a lock that somebody else can hold")
    writer, sweeper = connect(retention=KEPT, append_timeout=5.0), connect(retention=KEPT, append_timeout=GRACE)
    writer.topic(name).append(b"0")
    done = threading.Event()
    with connect().topic(name).subscribe_from_tail() as subscription:
        with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            appending = Background(lambda: writer.topic(name).append(b"1"))
            time.sleep(0.8)
            holder.execute("COMMIT")
        sweeping = _sweeping(sweeper, done)
        appending.result()
        assert payloads(take(subscription, 1)) == [b"1"]
        done.set()
        sweeping.result()


def test_what_is_old_is_swept_in_the_end(connect: Connect, name: str, store: StoreUnderTest) -> None:
    operator = connect(retention=KEPT, append_timeout=0.2)
    connect().topic(name).append_many(numbered(5))
    done = threading.Event()
    sweeping = _sweeping(operator, done)
    deadline = time.monotonic() + 10
    while store.contents(name) and time.monotonic() < deadline:
        time.sleep(0.02)
    done.set()
    sweeping.result()
    assert store.contents(name) == []
