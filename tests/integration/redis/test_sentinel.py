"""A primary that another server replaces: readers go on by themselves, and what the new one lacks is told."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.integration.redis.crowd import Crowd, Reader, until
from tests.integration.redis.steps import append, history, numbered
from tests.redis_several import master_client

from tailrace import CursorUnavailableError, StreamClient, spi
from tailrace.backends.redis import RedisStore
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError, StoreUnusableError
from tailrace.options import EngineOptions, StoreOptions, parse_url
from tailrace.testing.servers.redis import RedisSentinel, RedisServer, hold, release
from tailrace.testing.servers.redis.replicas import wait_until_heard, wait_until_replicated

OpenStore = Callable[..., RedisStore]
Swapped = tuple[Callable[..., None], RedisSentinel]


@pytest.fixture(scope="module")
def sentinel() -> Iterator[RedisSentinel]:
    with RedisSentinel(password="p/w") as sentinel:
        yield sentinel


@pytest.fixture
def calm(sentinel: RedisSentinel) -> RedisSentinel:
    """All servers up and in step, whatever the test before did."""
    for server in sentinel.servers:
        server.start()
        release(server)
    sentinel.wait_until_calm()
    return sentinel


@pytest.fixture
def open_store(calm: RedisSentinel) -> Iterator[OpenStore]:
    prefix = f"t-{secrets.token_hex(4)}"
    opened: list[RedisStore] = []

    def opener(**options: Any) -> RedisStore:
        store = spi.open_store(parse_url(f"{calm.url}/0?prefix={prefix}"), StoreOptions(**options))
        assert isinstance(store, RedisStore)
        opened.append(store)
        return store

    yield opener
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> RedisStore:
    return open_store()


@pytest.fixture
def streams(open_store: OpenStore) -> Iterator[StreamClient]:
    with StreamClient(open_store(), options=EngineOptions(poll_healthy=60.0)) as client:
        yield client


@pytest.fixture
def others(open_store: OpenStore) -> Iterator[StreamClient]:
    with StreamClient(open_store(), options=EngineOptions(poll_healthy=60.0)) as client:
        yield client


@pytest.mark.parametrize("how", ["told", "killed"])
def test_a_failover_under_four_writers_and_two_readers(
    calm: RedisSentinel, streams: StreamClient, others: StreamClient, store: RedisStore, how: str
) -> None:
    with Crowd(streams, others, "t") as crowd:
        crowd.until_read(50)
        former = calm.master
        assert (calm.failover() if how == "told" else calm.kill_master()) is not former
        crowd.until_read(50)
        crowd.end()

    final = history(store, "t")
    crowd.check(final)
    # Everything of after the failover is there: the last of each writer is.
    assert {writer.acknowledged[-1] for writer in crowd.writers} <= set(final)
    again = Reader(others.topic("t"))
    again.end()
    assert again.found == final


def test_a_lagging_replica_that_takes_over_is_another_history(
    calm: RedisSentinel, streams: StreamClient, others: StreamClient
) -> None:
    former, (replica,) = calm.master, calm.replicas
    topic = streams.topic("t")
    topic.append_many(numbered(5))
    early = topic.checkpoint()
    wait_until_replicated(former)
    hold(replica, former)
    topic.append_many(numbered(5, 5))
    late = topic.checkpoint()
    live = Reader(others.topic("t"))
    until(lambda: len(live.found) == 10)

    assert calm.kill_master() is replica

    live.end()
    assert live.lost is not None
    assert live.found == numbered(10)
    for _ in range(3):
        with pytest.raises(CursorUnavailableError):
            topic.subscribe_from_cursor(late)
        # Also when the new history has become longer than the old one was.
        topic.append_many([b"other"] * 4)
    with topic.subscribe_from_cursor(early) as subscription:
        found = [subscription.receive(timeout=5.0) for _ in range(12)]
    assert [record.payload for record in found if hasattr(record, "payload")] == [b"other"] * 12


def test_appends_during_the_gap_are_refused_and_never_of_unknown_outcome(
    calm: RedisSentinel, store: RedisStore
) -> None:
    append(store, "t", b"before")
    former = calm.master
    wait_until_replicated(former)
    former.kill()

    outcomes = store.append([spi.Entry("t", [b"meanwhile"])], 0.5)
    assert [type(outcome) for outcome in outcomes] == [spi.AppendRefused]

    calm.wait_until_replaced(former)
    append(store, "t", b"after")
    assert history(store, "t") == [b"before", b"after"]


@pytest.fixture
def swapped() -> Iterator[Swapped]:
    """A sentinel that is told of another primary by an operator: nobody closes connections, as a failover does."""
    with RedisSentinel(sentinels=1) as sentinel:

        def swap(*, demoted: bool) -> None:
            former, (replica,) = sentinel.master, sentinel.replicas
            wait_until_replicated(former)
            (node,) = sentinel.sentinels
            node.call("SENTINEL", "REMOVE", sentinel.name)
            replica.call("REPLICAOF", "NO", "ONE")
            if demoted:
                former.call("REPLICAOF", *replica.address)
                wait_until_heard(former, replica)
            node.call("SENTINEL", "MONITOR", sentinel.name, *replica.address, 1)

        yield swap, sentinel


@pytest.mark.parametrize("demoted", [True, False], ids=["demoted", "cut off"])
def test_a_primary_that_was_replaced_behind_our_back_is_left(
    swapped: Swapped, demoted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap, sentinel = swapped
    # The one that was demoted tells by its refusal; of the other one only the sentinel knows, so it is asked often.
    monkeypatch.setattr("tailrace.backends.redis.sentinel.EVERY", 60.0 if demoted else 0.2)
    store = spi.open_store(parse_url(sentinel.url), StoreOptions())
    with StreamClient(store, options=EngineOptions(poll_healthy=60.0)) as streams:
        topic = streams.topic("t")
        reader = Reader(topic)
        topic.append(b"before")
        former = sentinel.master
        swap(demoted=demoted)
        if demoted:
            # Which is no outcome that a caller has to hear of.
            topic.append(b"after")
        else:
            # It looks well, and only the sentinel knows better. The last one of these is stored by the new primary.
            until(lambda: topic.append(b"either") or former.info("clients")["connected_clients"] == "1")
            topic.append(b"after")
        assert sentinel.master is not former
        final = history(store, "t")
        assert final[-1] == b"after"
        assert set(final) <= {b"before", b"either", b"after"}
        until(lambda: b"after" in reader.found or reader.lost is not None)
        reader.abandon()
        # It was told, if it had read of what the former one went on to store.
        assert reader.found == final or reader.lost is not None


def test_a_replica_that_a_sentinel_names_is_not_believed_to_be_the_primary(swapped: Swapped) -> None:
    _, sentinel = swapped
    (node,), (replica,) = sentinel.sentinels, sentinel.replicas
    node.call("SENTINEL", "REMOVE", sentinel.name)
    node.call("SENTINEL", "MONITOR", sentinel.name, *replica.address, 1)
    with pytest.raises(DurableStreamUnavailableError, match="is being replaced"):
        spi.open_store(parse_url(sentinel.url), StoreOptions())
    replica.call("REPLICAOF", "NO", "ONE")
    spi.open_store(parse_url(sentinel.url), StoreOptions()).close()


@pytest.mark.long
def test_a_primary_that_hangs_is_left_when_another_one_is_named(calm: RedisSentinel, open_store: OpenStore) -> None:
    former = calm.master
    with (
        StreamClient(open_store(append_timeout=2.0)) as streams,
        StreamClient(open_store(append_timeout=2.0)) as others,
    ):
        topic = streams.topic("t")
        topic.append(b"before")
        wait_until_replicated(former)
        reader = Reader(others.topic("t"))
        until(lambda: reader.found == [b"before"])
        former.freeze()
        try:
            calm.wait_until_replaced(former)
            # Connections to the one that hangs are still open, and look well.
            with pytest.raises(DurableStreamUnavailableError) as caught:
                topic.append(b"unknown")
            assert caught.value.maybe_stored
            topic.append(b"after")
            until(lambda: b"after" in reader.found)
        finally:
            former.thaw()
            reader.abandon()
        assert reader.failed is None
        assert reader.found == [b"before", b"after"]


def test_closing_during_a_failover_takes_no_time(calm: RedisSentinel, open_store: OpenStore) -> None:
    store = open_store()
    append(store, "t", b"before")
    former = calm.master
    former.freeze()
    try:
        waiting = threading.Thread(target=lambda: store.append([spi.Entry("t", [b"x"])], 30.0))
        waiting.start()
        until(lambda: bool(store._nodes._node.connections._used))  # type: ignore[attr-defined]
        began = time.monotonic()
        store.close()
        waiting.join(20)
        assert not waiting.is_alive()
        assert time.monotonic() - began < 5
    finally:
        former.thaw()


def test_a_client_that_sentinel_made_finds_the_primary_again(calm: RedisSentinel) -> None:
    client = master_client(calm, password="p/w", protocol=3)
    store = RedisStore(client, prefix=f"t-{secrets.token_hex(4)}")
    append(store, "t", b"before")
    wait_until_replicated(calm.master)
    calm.kill_master()
    append(store, "t", b"after")
    assert history(store, "t") == [b"before", b"after"]
    store.close()
    client.close()


def test_one_sentinel_is_enough_and_need_not_be_the_first(calm: RedisSentinel) -> None:
    dead = "127.0.0.1:1"
    url = f"redis+sentinel://:p%2Fw@{dead},127.0.0.1:{calm.sentinels[-1].port}/{calm.name}"
    store = spi.open_store(parse_url(url), StoreOptions())
    append(store, "t", b"x")  # type: ignore[arg-type]
    store.close()


def test_what_is_meant_otherwise_is_said(calm: RedisSentinel) -> None:
    port = calm.sentinels[0].port
    wrong = {
        f"redis://127.0.0.1:{port}": r"connect with redis\+sentinel://",
        f"redis+sentinel://127.0.0.1:{port}/nobody": "watches no service called nobody",
        f"redis+sentinel://:p%2Fw@127.0.0.1:{calm.master.port}/{calm.name}": (
            # A newer server wants the password, which is not the sentinels', before it tells what it is.
            "not a sentinel|wants a password"
        ),
        f"redis+sentinel://127.0.0.1:{port}/{calm.name}": "wants a password",
        f"redis+cluster://:p%2Fw@127.0.0.1:{calm.master.port}": "connect with redis://",
    }
    for url, said in wrong.items():
        with pytest.raises(StoreUnusableError, match=said):
            spi.open_store(parse_url(url), StoreOptions())


def test_a_server_without_a_password_is_not_taken_for_a_sentinel() -> None:
    with RedisServer() as server, pytest.raises(StoreUnusableError, match="not a sentinel: connect with redis://"):
        spi.open_store(parse_url(f"redis+sentinel://127.0.0.1:{server.port}/x"), StoreOptions())


def test_a_client_of_replicas_is_refused(calm: RedisSentinel) -> None:
    from redis.sentinel import Sentinel

    client = Sentinel([("127.0.0.1", node.port) for node in calm.sentinels]).slave_for(calm.name)
    with pytest.raises(InvalidArgumentError, match="master_for"):
        RedisStore(client)
    client.close()


def test_a_url_without_a_service_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="names the service"):
        spi.open_store(parse_url("redis+sentinel://localhost"), StoreOptions())
