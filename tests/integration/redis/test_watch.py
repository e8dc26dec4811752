"""Hints come for followed topics only, whatever else happens on the connection; a silent server is noticed."""

import threading
import time
from collections.abc import Iterator

import pytest
import redis
from tests.integration.redis.conftest import OpenStore
from tests.integration.redis.crowd import until
from tests.integration.redis.steps import append

from tailrace import DurableStreamRecord, DurableStreamUnavailableError, StreamClient, spi
from tailrace.backends import pulse
from tailrace.backends.redis import RedisStore
from tailrace.options import EngineOptions
from tailrace.testing.faults import FlakyProxy


def hints(watch: spi.Watch, seconds: float = 5.0) -> frozenset[str]:
    """Return the topics of the first hint that comes."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        changes = watch.wait(deadline - time.monotonic())
        if changes.topics:
            return changes.topics
    return frozenset()


@pytest.fixture
def watching(store: RedisStore) -> Iterator[spi.Watch]:
    """A watch."""
    watch = store.watch()
    yield watch
    watch.close()


def test_appends_and_seals_of_followed_topics_are_told(store: RedisStore, watching: spi.Watch) -> None:
    watching.follow({"a", "b"}, ())
    append(store, "other", b"x")
    append(store, "a", b"x")
    assert hints(watching) == {"a"}
    store.seal("b", None)
    assert hints(watching) == {"b"}
    store.delete("a")
    assert hints(watching) == {"a"}
    watching.follow((), {"a"})
    append(store, "a", b"x")
    assert hints(watching, 0.1) == frozenset()


def test_what_is_appended_after_following_is_told_and_several_at_once(store: RedisStore, watching: spi.Watch) -> None:
    names = {f"t{number}" for number in range(1200)}
    watching.follow(names, ())
    for name in names:
        append(store, name, b"x")
    heard: set[str] = set()
    waits = 0
    while heard < names:
        more = hints(watching)
        assert more
        heard |= more
        waits += 1
    assert waits < 600


def test_hints_that_come_while_more_is_followed_are_kept(store: RedisStore, watching: spi.Watch) -> None:
    watching.follow({"a"}, ())
    append(store, "a", b"x")
    watching.follow({f"t{number}" for number in range(700)}, ())
    assert watching.wait(0).topics == {"a"}


def test_an_interrupt_ends_a_wait_that_runs_and_the_next_one(watching: spi.Watch) -> None:
    watching.interrupt()
    started = time.monotonic()
    watching.wait(10)
    timer = threading.Timer(0.05, watching.interrupt)
    timer.start()
    watching.wait(10)
    assert time.monotonic() - started < 5
    timer.join()


def test_a_wait_ends_at_its_timeout(watching: spi.Watch) -> None:
    started = time.monotonic()
    assert watching.wait(0.05) == spi.Changes()
    assert 0.04 < time.monotonic() - started < 5


def test_closing_frees_a_wait_and_is_idempotent(store: RedisStore) -> None:
    watch = store.watch()
    timer = threading.Timer(0.05, watch.close)
    timer.start()
    started = time.monotonic()
    watch.wait(10)
    assert time.monotonic() - started < 5
    timer.join()
    watch.close()
    watch.interrupt()
    with pytest.raises(DurableStreamUnavailableError):
        watch.wait(0)


def test_a_server_that_hangs_up_is_told(watching: spi.Watch, raw: "redis.Redis") -> None:
    watching.follow({"a"}, ())
    raw.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
    with pytest.raises(DurableStreamUnavailableError):
        watching.wait(5)


def test_hints_that_are_broken_off_again_and_again_are_asked_for_less_and_less_often(
    open_store: OpenStore, raw: "redis.Redis"
) -> None:
    def lines() -> int:
        return sum(int(entry["sub"]) > 0 for entry in raw.client_list(_type="pubsub"))

    with StreamClient(open_store(), options=EngineOptions(poll_unsure=0.1)) as streams:
        topic = streams.topic("t")
        with topic.subscribe_from_tail() as subscription:
            kills = 0
            ends = time.monotonic() + 2.0
            while time.monotonic() < ends:
                subscription.receive(timeout=0.005)
                if lines():
                    raw.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
                    kills += 1
            # At once, then after 0.1, 0.2, 0.4, 0.8 s and so on; without pauses it would be dozens.
            assert 2 <= kills <= 8
            # Who waits does not notice: what is appended is found all the same.
            topic.append(b"x")
            record = subscription.receive(timeout=5.0)
            assert isinstance(record, DurableStreamRecord)
            # And hints come back by themselves.
            until(lambda: lines() == 1, 15.0)


def test_a_silent_server_is_asked_and_found_out(
    server: str, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "SILENCE", 0.5)
    host, _, port = server.removeprefix("redis://").partition(":")
    with FlakyProxy((host, int(port))) as proxy:
        store = open_store(redis.Redis(port=proxy.port, protocol=2))
        watching = store.watch()
        watching.follow({"a"}, ())
        # It answers: the wait goes on.
        assert watching.wait(1.2) == spi.Changes()
        proxy.delay = 5.0
        with pytest.raises(DurableStreamUnavailableError, match="silent"):
            watching.wait(5)
        assert not watching.reliable
        proxy.delay = 0.0
        watching.close()
        store.close()


def test_ten_thousand_topics_are_followed_over_one_connection(
    store: RedisStore, watching: spi.Watch, raw: "redis.Redis"
) -> None:
    before = int(raw.info("clients")["connected_clients"])
    names = [f"t{number}" for number in range(10_000)]
    watching.follow(names, ())
    append(store, "t9999", b"x")
    assert hints(watching) == {"t9999"}
    assert int(raw.info("clients")["connected_clients"]) <= before
    watching.follow((), names)
    assert raw.pubsub_channels() == []


@pytest.mark.parametrize("protocol", [2, 3])
def test_it_works_with_either_protocol(server: str, open_store: OpenStore, protocol: int) -> None:
    client = redis.Redis.from_url(server, protocol=protocol)
    store = open_store(client)
    watching = store.watch()
    watching.follow({"a"}, ())
    end = append(store, "a", b"x")
    assert hints(watching) == {"a"}
    assert store.bounds("a") == spi.Bounds(spi.Boundary(end.incarnation, 0, 0), end)
    watching.close()
    client.close()
