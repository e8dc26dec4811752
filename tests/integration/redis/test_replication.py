"""``wait_replicas``: acknowledged means confirmed by replicas; short of that, the outcome is unknown and says why."""

from collections.abc import Iterator
from contextlib import closing

import pytest
import redis
from tests.integration.redis.conftest import OpenStore
from tests.integration.redis.steps import append, bounds, numbered, payloads, read

import tailrace
from tailrace import DurableStreamUnavailableError, InvalidArgumentError, StoreUnusableError, spi
from tailrace.backends.redis import RedisStore
from tailrace.options import parse_url
from tailrace.testing.faults import RespProxy
from tailrace.testing.reading import read_all, read_until_lost, take
from tailrace.testing.servers.redis import RedisCluster, RedisReplicas, RedisSentinel, RedisServer, hold, release
from tailrace.testing.servers.redis.replicas import wait_until_heard


@pytest.fixture(scope="module")
def replication() -> Iterator[RedisReplicas]:
    with RedisReplicas() as replication:
        yield replication


@pytest.fixture
def held(replication: RedisReplicas) -> Iterator[RedisReplicas]:
    """The replica misses what is written."""
    master, replica = replication.servers
    master.call("FLUSHALL")
    assert master.call("WAIT", 1, 10_000) == 1
    hold(replica, master)
    yield replication
    release(replica)
    wait_until_heard(replica, master)


@pytest.fixture
def master(replication: RedisReplicas) -> RedisServer:
    master = replication.servers[0]
    master.call("FLUSHALL")
    return master


def opened(server: RedisServer, **settings: object) -> "closing[RedisStore]":
    query = "&".join(f"{name}={value}" for name, value in settings.items())
    store = spi.open_store(parse_url(f"{server.url}?{query}"), tailrace.StoreOptions())
    assert isinstance(store, RedisStore)
    return closing(store)


def test_what_a_replica_confirmed_is_acknowledged_and_is_there(replication: RedisReplicas, master: RedisServer) -> None:
    replica = replication.servers[1]
    with opened(master, wait_replicas=1, wait_timeout=10) as store:
        append(store, "t", b"x")
        outcomes = store.append([spi.Entry(name, [b"y"]) for name in ("t", "u", "v")], 10.0)
        assert all(isinstance(outcome, spi.Appended) for outcome in outcomes)
        store.seal("u", None)
        store.seal("u", "again")
    with opened(replica) as reading:
        assert payloads(read(reading, "t", bounds(reading, "t").beginning)) == [b"x", b"y"]
        assert bounds(reading, "u").seal == spi.Seal()


def test_short_of_replicas_the_outcome_is_unknown_and_the_record_is_stored(held: RedisReplicas) -> None:
    with opened(held.servers[0], wait_replicas=1, wait_timeout=0.05) as store:
        (outcome,) = store.append([spi.Entry("t", [b"x"])], 10.0)
        assert isinstance(outcome, spi.AppendUnknown)
        assert "stored on the primary, but only 0 of 1 replicas confirmed it in time" in str(outcome.error)
        assert payloads(read(store, "t", bounds(store, "t").beginning)) == [b"x"]
        with pytest.raises(DurableStreamUnavailableError, match="0 of 1 replicas") as caught:
            store.seal("t", None)
        assert caught.value.maybe_stored is True
        # A seal may be repeated, and is not acknowledged before it is confirmed either.
        with pytest.raises(DurableStreamUnavailableError, match="0 of 1 replicas"):
            store.seal("t", None)
        (refused,) = store.append([spi.Entry("t", [b"late"])], 10.0)
        assert isinstance(refused, spi.AppendRefused)


def test_many_topics_wait_once_and_each_is_told(held: RedisReplicas) -> None:
    master = held.servers[0]
    with RespProxy(("127.0.0.1", master.port)) as proxy, closing(redis.Redis(port=proxy.port)) as client:
        store = RedisStore(client, wait_replicas=1, wait_timeout=0.05)
        with closing(store):
            append_unconfirmed(store, "warm")
            before = proxy.seen["WAIT"]
            outcomes = store.append([spi.Entry(f"t{number}", [b"x"]) for number in range(100)], 10.0)
            assert [type(outcome) for outcome in outcomes] == [spi.AppendUnknown] * 100
            assert proxy.seen["WAIT"] == before + 1


def append_unconfirmed(store: RedisStore, topic: str) -> None:
    """Append where nobody confirms."""
    (outcome,) = store.append([spi.Entry(topic, [b"x"])], 0.1)
    assert isinstance(outcome, spi.AppendUnknown)


def test_a_replica_that_confirms_late_is_waited_for(held: RedisReplicas) -> None:
    master, replica = held.servers
    with opened(master, wait_replicas=1, wait_timeout=10) as store:
        release(replica)
        append(store, "t", b"x")


def test_waiting_leaves_time_for_the_answer(held: RedisReplicas) -> None:
    with opened(held.servers[0], wait_replicas=1, wait_timeout=60) as store:
        append_unconfirmed(store, "warm")
        (outcome,) = store.append([spi.Entry("t", [b"x"])], 1.0)
        assert isinstance(outcome, spi.AppendUnknown)
        # What the server answered, not that it did not.
        assert "0 of 1 replicas" in str(outcome.error)


def test_a_lost_confirmation_is_unknown(master: RedisServer) -> None:
    with RespProxy(("127.0.0.1", master.port)) as proxy, closing(redis.Redis(port=proxy.port)) as client:
        store = RedisStore(client, wait_replicas=1, wait_timeout=10)
        with closing(store):
            append(store, "t", b"x")
            loss = proxy.lose_reply("^WAIT")
            outcomes = store.append([spi.Entry("t", [b"y"]), spi.Entry("u", [b"y"])], 10.0)
            assert loss.happened.is_set()
            assert [type(outcome) for outcome in outcomes] == [spi.AppendUnknown] * 2
            assert bounds(store, "t").tail.position == 2


def test_through_the_engine_the_caller_is_told_that_it_may_be_stored(held: RedisReplicas) -> None:
    url = f"{held.servers[0].url}?wait_replicas=1&wait_timeout=0.05"
    with tailrace.connect(url) as streams:
        with pytest.raises(DurableStreamUnavailableError, match="stored on the primary") as caught:
            streams.topic("t").append(b"x")
        assert caught.value.maybe_stored is True
        with streams.topic("t").subscribe_from_beginning() as subscription:
            record = subscription.receive(timeout=5)
            assert isinstance(record, tailrace.DurableStreamRecord)
            assert record.payload == b"x"


def test_whoever_may_not_wait_is_told_on_opening(
    server: str, raw: "redis.Redis", prefix: str, open_store: OpenStore
) -> None:
    raw.execute_command("ACL", "SETUSER", "hasty", "reset", "on", ">pw", f"~{prefix}:*", "+@all", "-wait")
    url = server.replace("redis://", "redis://hasty:pw@")
    with pytest.raises(StoreUnusableError, match="wait"):
        tailrace.connect(f"{url}/0?prefix={prefix}&wait_replicas=1")
    tailrace.connect(f"{url}/0?prefix={prefix}").close()


@pytest.mark.parametrize("wrong", ["wait_replicas=-1", "wait_replicas=x", "wait_replicas=1.5", "wait_timeout=0"])
def test_what_can_not_be_waited_for_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidArgumentError, match=wrong.partition("=")[0]):
        tailrace.connect(f"redis://127.0.0.1:1/0?{wrong}")


@pytest.mark.long
def test_in_a_cluster_each_node_is_waited_for() -> None:
    entries = [spi.Entry(f"t{number}", [b"x"]) for number in range(30)]
    with RedisCluster(replicas=1) as cluster:
        url = parse_url(f"{cluster.url}?wait_replicas=1&wait_timeout=10")
        with closing(spi.open_store(url, tailrace.StoreOptions())) as store:
            assert [type(outcome) for outcome in store.append(entries, 10.0)] == [spi.Appended] * 30
            # Two masters go on with their replicas; what is on the first is short of its own.
            cluster.nodes[3].kill()
            outcomes = store.append(entries, 2.0)
            assert {type(outcome) for outcome in outcomes} == {spi.Appended, spi.AppendUnknown}
            assert all("0 of 1" in str(o.error) for o in outcomes if isinstance(o, spi.AppendUnknown))


@pytest.mark.long
def test_what_was_confirmed_survives_a_failover_and_what_was_not_is_told_as_gone() -> None:
    with RedisSentinel() as sentinel:
        former, (replica,) = sentinel.master, sentinel.replicas
        with tailrace.connect(f"{sentinel.url}?wait_replicas=1&wait_timeout=5", append_timeout=10) as streams:
            topic = streams.topic("t")
            for payload in numbered(20):
                topic.append(payload)
            confirmed = topic.checkpoint()
            hold(replica, former)
            with pytest.raises(DurableStreamUnavailableError, match="0 of 1 replicas") as caught:
                topic.append(b"seen, and lost")
            assert caught.value.maybe_stored is True
            with topic.subscribe_from_cursor(confirmed) as reader:
                assert [record.payload for record in take(reader, 1)] == [b"seen, and lost"]
                assert sentinel.kill_master() is replica
                assert read_until_lost(reader) == []
        with tailrace.connect(sentinel.url) as streams:
            assert read_all(streams.topic("t").subscribe_from_beginning(), 20) == numbered(20)
            with streams.topic("t").subscribe_from_cursor(confirmed) as reader:
                streams.topic("t").append(b"another history")
                assert [record.payload for record in take(reader, 1)] == [b"another history"]
