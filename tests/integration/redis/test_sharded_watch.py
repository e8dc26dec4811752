"""Hints in a cluster come from the node of their topic: its watch follows slots that move and nodes that come back."""

import time
from collections.abc import Callable, Iterator

import pytest
from tests.integration.redis.crowd import until
from tests.integration.redis.steps import append

from tailrace import spi
from tailrace.backends.redis import RedisStore, sharded
from tailrace.backends.redis.keys import Keys
from tailrace.backends.redis.sharded import ShardedWatch
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.servers.redis import RedisCluster, RedisServer, flavour
from tailrace.testing.servers.redis.resharding import begin_move, end_move, move, move_keys

KEYS = Keys()


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster(settings={"cluster-require-full-coverage": "no"}) as cluster:
        yield cluster


@pytest.fixture(params=[pytest.param(2, marks=pytest.mark.long), 3], ids=["RESP2", "RESP3"])
def store(cluster: RedisCluster, request: pytest.FixtureRequest) -> Iterator[RedisStore]:
    for node in cluster.nodes:
        node.start()
    cluster.wait_until_whole()
    store = spi.open_store(parse_url(f"{cluster.url}?protocol={request.param}"), StoreOptions(append_timeout=2.0))
    assert isinstance(store, RedisStore)
    yield store
    store.close()


@pytest.fixture
def watch(store: RedisStore) -> Iterator[ShardedWatch]:
    watch = store.watch()
    assert isinstance(watch, ShardedWatch)
    yield watch
    watch.close()


def home(cluster: RedisCluster, topic: str) -> RedisServer:
    return cluster.master_of(KEYS.of(topic).channel)


def on(cluster: RedisCluster, node: RedisServer) -> str:
    """Return a topic that a node has."""
    return next(topic for topic in (f"t{n}" for n in range(1000)) if home(cluster, topic) is node)


def elsewhere(cluster: RedisCluster, topic: str) -> RedisServer:
    owner = home(cluster, topic)
    return next(node for node in cluster.nodes if node is not owner)


def listeners(node: RedisServer) -> int:
    """Return how many channels of slots somebody listens to on a node."""
    channels = node.call("PUBSUB", "SHARDCHANNELS")
    assert isinstance(channels, list)
    return len(channels)


def heard(watch: ShardedWatch, topic: str, act: Callable[[], object]) -> None:
    """Check that what is done is heard of."""
    act()
    deadline = time.monotonic() + 5
    while topic not in watch.wait(5.0).topics:
        assert time.monotonic() < deadline


def test_each_node_is_listened_to_for_its_own_topics_over_one_connection(
    cluster: RedisCluster, store: RedisStore, watch: ShardedWatch
) -> None:
    topics = [f"t{number}" for number in range(200)]
    watch.follow(topics, ())
    assert sum(listeners(node) for node in cluster.nodes) == 200
    assert all(listeners(node) for node in cluster.nodes)
    for node in cluster.nodes:
        rows = node.call("CLIENT", "LIST", "TYPE", "PUBSUB")
        assert isinstance(rows, bytes)
        assert len(rows.splitlines()) == 1
    append(store, "t3", b"x")
    assert watch.wait(5.0).topics == {"t3"}
    watch.follow((), topics[1:])
    assert sum(listeners(node) for node in cluster.nodes) == 1
    append(store, "t3", b"x")
    heard(watch, "t0", lambda: append(store, "t0", b"x"))


def test_nobody_who_does_not_follow_is_told(cluster: RedisCluster, store: RedisStore, watch: ShardedWatch) -> None:
    watch.follow(["t0"], ())
    append(store, "other", b"x")
    assert watch.wait(0.05) == spi.Changes()


def test_a_slot_that_has_moved_is_followed_there_and_its_topics_are_told_once_more(
    cluster: RedisCluster, store: RedisStore, watch: ShardedWatch
) -> None:
    append(store, "t0", b"x")
    watch.follow(["t0", "t1"], ())
    for _ in range(2):
        target = elsewhere(cluster, "t0")
        move(cluster, cluster.slot_of(KEYS.of("t0").channel), target)
        # What was told in between may not have been heard.
        heard(watch, "t0", lambda: None)
        assert watch.reliable
        heard(watch, "t0", lambda: append(store, "t0", b"x"))
        assert home(cluster, "t0") is target


def test_what_the_node_stores_that_a_slot_is_moving_to_is_heard_of_at_the_one_that_it_moves_from(
    cluster: RedisCluster, store: RedisStore, watch: ShardedWatch
) -> None:
    append(store, "t0", b"x")
    watch.follow(["t0"], ())
    slot, target = cluster.slot_of(KEYS.of("t0").channel), elsewhere(cluster, "t0")
    move_keys(cluster, slot, begin_move(cluster, slot, target), target)
    heard(watch, "t0", lambda: append(store, "t0", b"x"))
    assert watch.reliable
    end_move(cluster, slot, target)


def test_a_topic_that_is_not_where_it_was_known_to_be_is_found(
    cluster: RedisCluster, store: RedisStore, watch: ShardedWatch
) -> None:
    append(store, "t5", b"x")
    move(cluster, cluster.slot_of(KEYS.of("t5").channel), elsewhere(cluster, "t5"))
    watch.follow(["t5", "t6"], ())
    until(lambda: watch.wait(0.1) is not None and watch.reliable)
    heard(watch, "t5", lambda: append(store, "t5", b"x"))
    heard(watch, "t6", lambda: append(store, "t6", b"x"))


def test_a_node_that_is_away_makes_the_watch_unsure_and_does_not_end_it(
    cluster: RedisCluster, store: RedisStore, watch: ShardedWatch
) -> None:
    victim = cluster.nodes[1]
    dead, alive = on(cluster, victim), on(cluster, cluster.nodes[0])
    watch.follow([dead, alive], ())
    victim.kill()
    until(lambda: watch.wait(0.05) is not None and not watch.reliable)
    heard(watch, alive, lambda: append(store, alive, b"x"))
    # Also one that is followed only now.
    watch.follow((), [dead])
    watch.follow([dead], ())
    assert not watch.reliable
    heard(watch, alive, lambda: append(store, alive, b"x"))

    victim.start()
    cluster.wait_until_whole()
    heard(watch, dead, lambda: None)
    assert watch.reliable
    heard(watch, dead, lambda: append(store, dead, b"x"))


def test_a_node_that_breaks_off_again_and_again_is_asked_less_and_less_often(
    cluster: RedisCluster, store: RedisStore, watch: ShardedWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharded, "AGAIN", 0.01)
    flapping, steady = on(cluster, cluster.nodes[0]), on(cluster, cluster.nodes[1])
    watch.follow([flapping, steady], ())
    node, kills = home(cluster, flapping), 0
    ends = time.monotonic() + 2.0
    while time.monotonic() < ends:
        watch.wait(0.01)
        if listeners(node):
            node.call("CLIENT", "KILL", "TYPE", "pubsub")
            kills += 1
    assert 2 <= kills <= 8
    # Nobody else's hints are late by that, and its own come back.
    heard(watch, steady, lambda: append(store, steady, b"x"))
    until(lambda: watch.wait(0.05) is not None and watch.reliable, 15.0)
    heard(watch, flapping, lambda: append(store, flapping, b"x"))


def test_a_topic_that_is_dropped_while_its_node_is_away_is_not_waited_for(
    cluster: RedisCluster, store: RedisStore, watch: ShardedWatch
) -> None:
    victim = cluster.nodes[2]
    dead = on(cluster, victim)
    watch.follow([dead], ())
    victim.kill()
    until(lambda: watch.wait(0.05) is not None and not watch.reliable)
    watch.follow((), [dead])
    assert watch.reliable


def test_an_interrupt_ends_a_wait_and_closing_does(store: RedisStore, watch: ShardedWatch) -> None:
    watch.follow(["t0"], ())
    watch.interrupt()
    began = time.monotonic()
    assert watch.wait(30.0) == spi.Changes()
    assert time.monotonic() - began < 5


@pytest.mark.long
def test_servers_before_7_tell_all_nodes() -> None:
    with RedisCluster(flavour("redis-6.2")) as cluster:
        store = spi.open_store(parse_url(cluster.url), StoreOptions())
        topics = [f"t{number}" for number in range(20)]
        watch = store.watch()
        watch.follow(topics, ())
        for topic in topics:
            append(store, topic, b"x")  # type: ignore[arg-type]
            assert watch.wait(5.0).topics == {topic}
        watch.close()
        store.close()
