"""Live delivery on a cluster whose slots move and whose nodes die, and behind Sentinel when the primary is replaced."""

from collections.abc import Iterator

import pytest
import redis

from tailrace import broadcast
from tailrace.broadcast import BroadcastUnavailableError
from tailrace.testing.broadcast.listening import failure, hear
from tailrace.testing.reading import PATIENCE, numbered
from tailrace.testing.servers.redis import RedisCluster, RedisSentinel, RedisServer
from tailrace.testing.servers.redis.resharding import move
from tailrace.testing.servers.waiting import until

pytestmark = pytest.mark.long

FORMS = ["sharded", "streams"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as cluster:
        yield cluster


@pytest.mark.parametrize("form", FORMS)
def test_a_slot_that_moves_is_told_and_others_go_on(cluster: RedisCluster, form: str) -> None:
    with broadcast.connect(f"{cluster.url}/?mode={form}") as channel:
        here, there = _of_one_node(cluster)
        with channel.topic(here).subscribe() as moving, channel.topic(there).subscribe() as staying:
            channel.topic(here).publish(b"before")
            assert hear(moving, 1) == [b"before"]
            move(cluster, cluster.slot_of(here), _another(cluster, here))
            heard, error = failure(moving)
            assert heard == []
            assert isinstance(error, BroadcastUnavailableError)
            channel.topic(there).publish(b"on")
            assert hear(staying, 1) == [b"on"]
        for payload in numbered(3):
            with channel.topic(here).subscribe() as moved:
                channel.topic(here).publish(payload)
                assert hear(moved, 1) == [payload]


@pytest.mark.parametrize("form", FORMS)
def test_a_slot_that_has_moved_before_anybody_listened_is_followed(cluster: RedisCluster, form: str) -> None:
    with broadcast.connect(f"{cluster.url}/?mode={form}") as channel:
        name, _ = _of_one_node(cluster)
        move(cluster, cluster.slot_of(name), _another(cluster, name))
        with channel.topic(name).subscribe() as subscription:
            channel.topic(name).publish(b"x")
            assert hear(subscription, 1) == [b"x"]


@pytest.mark.parametrize("form", FORMS)
def test_a_node_that_dies_takes_only_its_own_topics_along(form: str) -> None:
    with RedisCluster(settings={"cluster-require-full-coverage": "no"}) as cluster:
        with broadcast.connect(f"{cluster.url}/?mode={form}", publish_timeout=3.0) as channel:
            lost, stays = "a", next(name for name in "bcdefghij" if _apart(cluster, "a", name))
            with channel.topic(lost).subscribe() as theirs, channel.topic(stays).subscribe() as ours:
                node = cluster.master_of(lost)
                node.kill()
                assert isinstance(failure(theirs)[1], BroadcastUnavailableError)
                channel.topic(stays).publish(b"on")
                assert hear(ours, 1) == [b"on"]
                node.start()
                cluster.wait_until_whole()
                channel.topic(stays).publish(b"still")
                assert hear(ours, 1) == [b"still"]
                again = channel.topic(lost)
                until(lambda: _heard(again), "its topics are heard again", timeout=PATIENCE)


def test_the_node_that_carries_everybodys_messages_dies_and_that_is_told_and_another_one_is_found() -> None:
    with RedisCluster(settings={"cluster-require-full-coverage": "no"}) as cluster:
        with broadcast.connect(f"{cluster.url}/?mode=pubsub", publish_timeout=3.0) as channel:
            topic = channel.topic("t")
            with topic.subscribe() as subscription:
                topic.publish(b"before")
                assert hear(subscription, 1) == [b"before"]
                node = next(node for node in cluster.nodes if _listens(node))
                node.kill()
                assert isinstance(failure(subscription)[1], BroadcastUnavailableError)
                until(lambda: _heard(topic), "it is heard over another node", timeout=PATIENCE)
                node.start()


@pytest.mark.parametrize("form", ["pubsub", "streams"])
def test_a_primary_that_dies_is_told_and_the_next_one_is_found(form: str) -> None:
    with RedisSentinel() as sentinel, broadcast.connect(f"{sentinel.url}/0?mode={form}") as channel:
        topic = channel.topic("t")
        with topic.subscribe() as subscription:
            topic.publish(b"before")
            assert hear(subscription, 1) == [b"before"]
            sentinel.kill_master()
            failure(subscription)
        until(lambda: _heard(topic), "the next primary is found", timeout=PATIENCE)


def test_a_primary_that_is_replaced_while_it_lives_is_told_to_whoever_only_listens() -> None:
    with RedisSentinel() as sentinel, broadcast.connect(f"{sentinel.url}/0?mode=pubsub") as channel:
        with channel.topic("t").subscribe() as subscription:
            sentinel.failover()
            assert isinstance(failure(subscription)[1], BroadcastUnavailableError)


def _listens(node: RedisServer) -> bool:
    with redis.Redis.from_url(node.url) as raw:
        return bool(raw.pubsub_channels())


def _heard(topic: broadcast.Topic) -> bool:
    try:
        with topic.subscribe() as subscription:
            topic.publish(b"again")
            return subscription.receive(5) == b"again"
    except BroadcastUnavailableError:
        return False


def _of_one_node(cluster: RedisCluster) -> tuple[str, str]:
    names = [f"n{number}" for number in range(100)]
    first = names[0]
    owner = cluster.master_of(first).port
    return first, next(name for name in names[1:] if cluster.master_of(name).port == owner)


def _another(cluster: RedisCluster, name: str) -> RedisServer:
    return next(node for node in cluster.nodes if node.port != cluster.master_of(name).port)


def _apart(cluster: RedisCluster, one: str, other: str) -> bool:
    return cluster.master_of(one).port != cluster.master_of(other).port
