"""What only goes wrong among greenlets. Run by patched.py, in a process that is patched."""

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import gevent
import pytest
from gevent import monkey
from tests.gevent.ticker import ticking
from tests.redis_server import redis_server

import tailrace
from tailrace import CLOSED, DurableStreamRecord, DurableStreamUnavailableError, StreamClient, Subscription
from tailrace.testing.servers.waiting import line_of, until

MOST = 0.5
PATIENCE = 20.0


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A Redis server."""
    with redis_server() as address:
        yield address


@pytest.fixture(params=["memory", "sqlite", "redis"])
def streams(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StreamClient]:
    """A client of each store."""
    if request.param == "redis":
        address = f"{request.getfixturevalue('server')}/0?prefix=greenlets-{secrets.token_hex(4)}"
    else:
        address = "memory://" if request.param == "memory" else url(tmp_path)
    with tailrace.connect(address) as client:
        yield client


def url(folder: Path) -> str:
    """Name a SQLite file in ``folder``."""
    return f"sqlite:///{folder}/events.db"


def payloads(subscription: Subscription, count: int) -> list[bytes]:
    """Receive so many records."""
    found: list[bytes] = []
    while len(found) < count:
        record = subscription.receive(PATIENCE)
        assert isinstance(record, DurableStreamRecord), (record, len(found))
        found.append(record.payload)
    return found


def in_native_thread(call: Callable[[], object]) -> None:
    """Start a call in a thread that gevent knows nothing of."""
    monkey.get_original("_thread", "start_new_thread")(call, ())


# The program of the other process: it holds a lock from its first line of output until its input ends.
HOLD = {
    "gate": "f = open(sys.argv[1] + '-gate', 'r+'); fcntl.flock(f, fcntl.LOCK_EX)",
    "database": "c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN EXCLUSIVE')",
}


@contextmanager
def held(lock: str, path: Path) -> Iterator[None]:
    """Have another process hold one of the two locks while the block runs."""
    program = f"import fcntl, sqlite3, sys; {HOLD[lock]}; print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert line_of(process) == b"held\n"
        yield
        process.stdin.close()
        process.wait(PATIENCE)


def test_s32_fifty_greenlets_wait_and_one_ticks(streams: StreamClient) -> None:
    topic = streams.topic("t")
    subscriptions = [topic.subscribe_from_tail() for _ in range(50)]

    def wait(subscription: Subscription) -> list[object]:
        with subscription:
            return [subscription.receive(30), subscription.receive(30)]

    with ticking() as ticker:
        waiting = [gevent.spawn(wait, subscription) for subscription in subscriptions]
        until(lambda: streams.stats()["live_subscriptions"] == 50, "all fifty wait")
        gevent.sleep(0.5)
        topic.append(b"x")
        gevent.sleep(0.3)
        for subscription in subscriptions[:25]:
            subscription.close()
        in_native_thread(lambda: [subscription.close() for subscription in subscriptions[25:]])
        gevent.joinall(waiting, timeout=PATIENCE, raise_error=True)
    for greenlet in waiting:
        record, end = greenlet.value
        assert isinstance(record, DurableStreamRecord)
        assert end is CLOSED
    assert max(gap.whole for gap in ticker.gaps()) < MOST


@pytest.mark.parametrize("closer", [gevent.spawn, in_native_thread], ids=["greenlet", "native-thread"])
def test_s32_close_unblocks_within_a_tenth_of_a_second(
    streams: StreamClient, closer: Callable[[Callable[[], object]], object]
) -> None:
    took = []
    for _ in range(5):
        with streams.topic("t").subscribe_from_tail() as subscription:
            waiting = gevent.spawn(subscription.receive, 30)
            gevent.sleep(0.02)
            closed = time.monotonic()
            closer(subscription.close)
            assert waiting.get(timeout=PATIENCE) is CLOSED
            took.append(time.monotonic() - closed)
    # The best: a busy machine may hold up any one of them, and a slow close holds up all.
    assert min(took) < 0.1


@pytest.mark.parametrize("lock", ["gate", "database"])
def test_a_writer_in_another_process_stops_appends_and_nothing_else(lock: str, tmp_path: Path) -> None:
    with tailrace.connect(url(tmp_path)) as streams:
        topic = streams.topic("t")
        topic.append(b"before")
        with ticking() as ticker:
            with held(lock, tmp_path / "events.db"):
                # More writers than the hub has native threads: waiting in them, they would take them all.
                writers = [gevent.spawn(streams.topic(f"w{n}").seal) for n in range(30)]
                append = gevent.spawn(topic.append, b"after")
                gevent.sleep(0.5)
                assert not append.ready()
                assert gevent.get_hub().threadpool.apply(lambda: "free") == "free"
                if lock == "gate":
                    with topic.subscribe_from_beginning() as subscription:
                        assert payloads(subscription, 1) == [b"before"]
            gevent.joinall([append, *writers], timeout=PATIENCE, raise_error=True)
        assert max(gap.whole for gap in ticker.gaps()) < MOST
        with topic.subscribe_from_beginning() as subscription:
            assert payloads(subscription, 2) == [b"before", b"after"]


def test_a_greenlet_that_is_killed_in_an_append_harms_nobody(tmp_path: Path) -> None:
    with tailrace.connect(url(tmp_path)) as streams:
        topic = streams.topic("t")
        with held("gate", tmp_path / "events.db"):
            killed = gevent.spawn(topic.append, b"killed")
            gevent.sleep(0.1)
            behind = gevent.spawn(topic.append, b"behind")
            gevent.sleep(0.1)
            killed.kill()
            third = gevent.spawn(topic.append, b"third")
            gevent.sleep(0.1)
        gevent.joinall([behind, third], timeout=PATIENCE, raise_error=True)
        with topic.subscribe_from_beginning() as subscription:
            topic.append(b"end")
            found = []
            while not found or found[-1] != b"end":
                found += payloads(subscription, 1)
        # Killed in the middle: stored once, or not at all.
        assert sorted(set(found) - {b"killed"}) == [b"behind", b"end", b"third"]
        assert len(found) == len(set(found))


def test_greenlets_and_native_threads_share_a_client(streams: StreamClient) -> None:
    topic, done = streams.topic("t"), threading.Event()
    left = [3]

    def write() -> None:
        for _ in range(100):
            topic.append(b"native")
        left[0] -= 1
        if not left[0]:
            done.set()

    def follow() -> list[bytes]:
        with topic.subscribe_from_beginning() as subscription:
            return payloads(subscription, 600)

    readers = [gevent.spawn(follow) for _ in range(5)]
    for _ in range(3):
        in_native_thread(write)
    writers = [gevent.spawn(lambda: [topic.append(b"greenlet") for _ in range(100)]) for _ in range(3)]
    gevent.joinall([*writers, *readers], timeout=60, raise_error=True)
    assert done.wait(PATIENCE)
    assert sorted(readers[0].value) == [b"greenlet"] * 300 + [b"native"] * 300
    assert all(reader.value == readers[0].value for reader in readers)


def test_s32_a_child_gets_its_own_and_the_parents_greenlets_learn_that_they_are_not(streams: StreamClient) -> None:
    topic, answers = streams.topic("t"), []
    pump = streams._engine._pump

    def follow() -> None:
        # In the parent and, from the fork on, in the child as well: greenlets go on in both.
        with topic.subscribe_from_tail() as subscription:
            for _ in range(2):
                try:
                    answers.append(subscription.receive(PATIENCE))
                except DurableStreamUnavailableError as error:
                    answers.append(str(error))

    reader = gevent.spawn(follow)
    until(lambda: streams.stats()["live_subscriptions"] == 1, "it waits")
    child = os.fork()
    if not child:
        status = 1
        # One that hangs ends.
        signal.alarm(60)
        try:
            reader.get(timeout=5)
            assert "opened in another process" in answers[0], answers
            assert answers[1] is CLOSED
            assert streams.stats()["pump_rounds"] == 0
            with topic.subscribe_from_tail() as subscription:
                topic.append(b"child")
                assert payloads(subscription, 1) == [b"child"]
            # The parent's loop was carried over, too, and has ended here.
            rounds = pump.rounds
            topic.append(b"child")
            gevent.sleep(0.1)
            assert pump.rounds == rounds
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    # The memory store's child has a copy of its own; what it appended is not ours.
    expected = [b"child", b"child"] if streams.capabilities.shared else [b"parent", b"second"]
    topic.append(b"parent")
    topic.append(b"second")
    reader.get(timeout=PATIENCE)
    assert [record.payload for record in answers] == expected
