"""What an append that goes wrong means: certainly not stored, or unknown; and never stored twice."""

import socket
import threading
from collections.abc import Iterator

import pytest
import redis
from tests.integration.redis.conftest import OpenStore
from tests.integration.redis.crowd import until
from tests.integration.redis.steps import append, bounds, refused

from tailrace import DurableStreamUnavailableError, spi
from tailrace.backends.redis import RedisStore
from tailrace.testing.faults import FlakyProxy
from tailrace.testing.reading import Background


@pytest.fixture
def proxy(server: str) -> Iterator[FlakyProxy]:
    """A way to the server that breaks on demand."""
    host, _, port = server.removeprefix("redis://").partition(":")
    with FlakyProxy((host, int(port))) as proxy:
        yield proxy


@pytest.fixture
def through(proxy: FlakyProxy, open_store: OpenStore) -> RedisStore:
    """A store behind that way, whose client would retry if it were asked."""
    client = redis.Redis(port=proxy.port, protocol=2, retry_on_error=[redis.ConnectionError, redis.TimeoutError])
    return open_store(client)


def count(store: RedisStore, topic: str = "t") -> int:
    """Return how many records a topic has."""
    return bounds(store, topic).tail.position


def test_a_dropped_reply_is_unknown_and_sent_once(proxy: FlakyProxy, through: RedisStore, store: RedisStore) -> None:
    append(through, "t", b"first")
    for _ in range(3):
        proxy.drop_reply(lambda sent: b"EVALSHA" in sent)
        (outcome,) = through.append([spi.Entry("t", [b"x"])], 10.0)
        assert isinstance(outcome, spi.AppendUnknown)
    assert count(store) == 4
    append(through, "t", b"last")
    assert count(store) == 5


def test_a_server_that_refuses_connections_stores_nothing(proxy: FlakyProxy, through: RedisStore) -> None:
    append(through, "t", b"first")
    proxy.refuse()
    # The connection that was open is known to be dead before anything is sent over it.
    assert "could not be used" in str(refused(through, "t"))
    proxy.accept()
    append(through, "t", b"x")
    assert count(through) == 2


def test_a_connection_that_the_server_closed_while_it_was_idle_is_no_unknown_outcome(
    store: RedisStore, raw: "redis.Redis"
) -> None:
    append(store, "t", b"first")
    for number in range(5):
        assert raw.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") >= 1
        assert append(store, "t", b"x").position == number + 2


def test_a_server_that_does_not_answer_is_unknown_in_time(
    proxy: FlakyProxy, through: RedisStore, raw: "redis.Redis"
) -> None:
    append(through, "t", b"first")
    raw.execute_command("CLIENT", "PAUSE", "300", "ALL")
    (outcome,) = through.append([spi.Entry("t", [b"x"])], 0.1)
    assert isinstance(outcome, spi.AppendUnknown)
    assert "in time" in str(outcome.error)


def test_a_server_that_does_not_even_greet_is_refused_in_time(open_store: OpenStore) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    client = redis.Redis(port=listener.getsockname()[1], protocol=2)
    with pytest.raises(DurableStreamUnavailableError, match="in time"):
        open_store(client, append_timeout=0.2)
    listener.close()


def test_a_forgotten_script_is_sent_again_as_a_whole(store: RedisStore, raw: "redis.Redis") -> None:
    append(store, "t", b"a")
    raw.script_flush()
    assert append(store, "t", b"b").position == 2
    raw.script_flush()
    outcomes = store.append([spi.Entry(name, [b"x"]) for name in ("t", "u", "v")], 10.0)
    assert all(isinstance(outcome, spi.Appended) for outcome in outcomes)
    assert [count(store, name) for name in ("t", "u", "v")] == [3, 1, 1]


def test_entries_of_many_topics_keep_their_order_in_each(store: RedisStore) -> None:
    entries = [spi.Entry(f"t{number % 7}", [b"%d" % number, b"+"]) for number in range(700)]
    outcomes = store.append(entries, 10.0)
    for topic in range(7):
        mine = [outcome for number, outcome in enumerate(outcomes) if number % 7 == topic]
        assert [o.end.position for o in mine if isinstance(o, spi.Appended)] == list(range(2, 202, 2))


def test_more_threads_than_connections_wait_for_one(store: RedisStore, raw: "redis.Redis") -> None:
    for number in range(50):
        append(store, f"t{number}", b"x")
    before = int(raw.info("clients")["connected_clients"])
    most: list[int] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            most.append(int(raw.info("clients")["connected_clients"]))

    watcher = threading.Thread(target=look)
    watcher.start()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(20):
                bounds(store, f"t{number % 50}")
        except BaseException as exc:  # noqa: BLE001 - raised below
            failures.append(exc)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    watcher.join()
    assert failures == []
    assert max(most) <= before + 33


def test_closing_frees_a_caller_that_waits_for_an_answer(
    proxy: FlakyProxy, through: RedisStore, store: RedisStore
) -> None:
    append(through, "t", b"first")
    proxy.stall(requests=False)
    waiting = Background(lambda: through.append([spi.Entry("t", [b"x"])], 120.0))
    # From now on it waits, for as long as it has time: the answer is held.
    until(lambda: count(store) == 2)
    through.close()
    (outcome,) = waiting.result()
    assert isinstance(outcome, spi.AppendUnknown)
