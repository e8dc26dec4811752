"""After a fork the child has its own connections and its own pump, and the parent goes on as if nothing had been."""

import multiprocessing
import secrets
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.forks.children import child, ended_well, payloads, until_closed, use
from tests.redis_server import redis_server

import tailrace
from tailrace import CLOSED, DurableStreamUnavailableError, StreamClient
from tailrace.testing.servers.nats import NatsServer
from tailrace.testing.servers.redis import RedisCluster

# Python 3.12 and later warn of every fork with threads; that is what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A Redis server."""
    with redis_server() as address:
        yield address


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A Redis Cluster."""
    with RedisCluster() as nodes:
        yield nodes.url


@pytest.fixture(scope="module")
def nats() -> Iterator[NatsServer]:
    """A NATS server."""
    with NatsServer() as server:
        yield server


OTHERS = [pytest.param(store, marks=pytest.mark.long) for store in ("redis-cluster", "nats")]


@pytest.fixture(params=["memory", "sqlite", "redis", *OTHERS])
def streams(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StreamClient]:
    """A client of each store."""
    if request.param == "redis":
        address = f"{request.getfixturevalue('server')}/0?prefix=fork-{secrets.token_hex(4)}"
    elif request.param == "nats":
        address = request.getfixturevalue("nats").url(stream=f"fork-{secrets.token_hex(4)}")
        tailrace.connect(address, create=True).close()
    elif request.param == "redis-cluster":
        address = f"{request.getfixturevalue('cluster')}?prefix=fork-{secrets.token_hex(4)}"
    else:
        address = "memory://" if request.param == "memory" else url(tmp_path)
    with tailrace.connect(address) as client:
        yield client


def url(folder: Path) -> str:
    """Name a SQLite file in ``folder``."""
    return f"sqlite:///{folder}/events.db"


def test_an_open_subscription_raises_one_clear_error_in_a_child_and_is_closed_there(streams: StreamClient) -> None:
    topic = streams.topic("t")
    topic.append_many([b"0", b"1"])
    with topic.subscribe_from_beginning() as catching_up, topic.subscribe_from_tail() as live:
        assert payloads(catching_up, 1) == [b"0"]
        assert live.receive(0.05) is None

        def call() -> None:
            for subscription in (catching_up, live):
                with pytest.raises(DurableStreamUnavailableError, match="opened in another process"):
                    subscription.receive(5)
                assert subscription.receive(0) is CLOSED
                subscription.close()
            # From where it stood, as the error says.
            with topic.subscribe_from_cursor(catching_up.cursor) as resumed:
                assert payloads(resumed, 1) == [b"1"]

        assert ended_well(child(call))
        topic.append(b"2")
        assert payloads(catching_up, 2) == [b"1", b"2"]
        assert payloads(live, 1) == [b"2"]


def test_a_subscription_that_was_not_entered_yet_may_be_entered_in_a_child(streams: StreamClient) -> None:
    topic = streams.topic("t")
    topic.append(b"x")
    subscription = topic.subscribe_from_beginning()

    def call() -> None:
        with subscription:
            assert payloads(subscription, 1) == [b"x"]

    assert ended_well(child(call))
    call()


def test_a_child_that_closes_the_client_closes_only_its_own(streams: StreamClient) -> None:
    with streams.topic("t").subscribe_from_tail() as live:
        assert live.receive(0.05) is None
        assert ended_well(child(streams.close))
        streams.topic("t").append(b"x")
        assert payloads(live, 1) == [b"x"]


def test_a_grandchild_is_a_child_too(streams: StreamClient) -> None:
    def call() -> None:
        use(streams, "child", b"child")
        assert ended_well(child(lambda: use(streams, "grandchild", b"grandchild")))
        use(streams, "child", b"child")

    use(streams, "parent", b"parent")
    assert ended_well(child(call))
    use(streams, "parent", b"parent")


def fork_in_a_crowd(streams: StreamClient, rounds: int) -> None:
    """Fork while other threads are inside everything that can be done with a store."""
    topic, stop = streams.topic("t"), threading.Event()
    appended = [0, 0]
    errors: list[BaseException] = []

    def append(number: int) -> None:
        topic.append(b"x")
        appended[number] += 1

    def enter(_: int) -> None:
        with topic.subscribe_from_tail() as subscription:
            subscription.receive(0.001)

    def seal(_: int) -> None:
        streams.topic(f"sealed{threading.get_ident()}").seal()

    def reopen(_: int) -> None:
        # Opens and closes connections all the time; with the memory store it is one more user of a client.
        with tailrace.connect(store) as other:
            use(other, "reopened", b"x")

    def loop(work: Callable[[int], None], number: int) -> None:
        try:
            while not stop.is_set():
                work(number)
        except BaseException as error:  # noqa: BLE001 - checked at the end
            errors.append(error)

    path = getattr(getattr(streams._engine.backend, "_location", None), "path", None)
    store = "memory://" if path is None else f"sqlite:///{path}"
    with topic.subscribe_from_beginning() as follower:
        work = [(append, 0), (append, 1), (enter, 0), (seal, 0), (reopen, 0)]
        threads = [threading.Thread(target=loop, args=each) for each in work]
        for thread in threads:
            thread.start()
        try:
            for number in range(rounds):
                children = [child(lambda n=number: use(streams, f"child{n}", b"x")) for _ in range(2)]
                assert [ended_well(pid) for pid in children] == [True, True], number
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert errors == []
        topic.seal()
        assert len(until_closed(follower)) == sum(appended)


def test_forks_while_other_threads_are_inside_everything(streams: StreamClient) -> None:
    fork_in_a_crowd(streams, 10)


@pytest.mark.long
def test_two_hundred_rounds_of_forks_while_other_threads_are_inside_everything(streams: StreamClient) -> None:
    fork_in_a_crowd(streams, 200)


def test_a_child_of_multiprocessing_uses_what_it_inherited(streams: StreamClient) -> None:
    context = multiprocessing.get_context("fork")
    with streams.topic("t").subscribe_from_tail() as live:
        assert live.receive(0.05) is None
        process = context.Process(target=use, args=(streams, "child", b"x"))
        process.start()
        process.join(30)
        assert process.exitcode == 0
        use(streams, "t", b"y")
        assert payloads(live, 3) == [b"y"] * 3


def test_a_spawned_process_connects_by_itself(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with tailrace.connect(url(tmp_path)) as streams, streams.topic("t").subscribe_from_tail() as live:
        process = context.Process(target=connect_and_use, args=(url(tmp_path),))
        process.start()
        assert payloads(live, 3) == [b"spawned"] * 3
        process.join(30)
        assert process.exitcode == 0


def connect_and_use(store: str) -> None:
    """Be a spawned process."""
    with tailrace.connect(store) as streams:
        use(streams, "t", b"spawned")
