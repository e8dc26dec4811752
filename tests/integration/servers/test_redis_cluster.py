"""A cluster is formed of real nodes, serves every key, and its slots and masters can be moved."""

from collections.abc import Iterator

import pytest

from tailrace.testing.leaks import no_leaks
from tailrace.testing.servers.redis import Flavour, RedisCluster, RespError
from tailrace.testing.servers.redis.cluster_views import cluster_info
from tailrace.testing.servers.redis.replicas import wait_until_replicated
from tailrace.testing.servers.redis.resharding import begin_move, end_move, move, move_keys
from tailrace.testing.servers.waiting import until

# What these servers are for shows every day that they work: tests/integration/redis.
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def cluster(slow_kind: Flavour) -> Iterator[RedisCluster]:
    with RedisCluster(slow_kind) as cluster:
        yield cluster


def test_every_key_is_served_by_one_of_three_nodes(cluster: RedisCluster) -> None:
    owners = set()
    for number in range(30):
        owner = cluster.master_of(f"key-{number}")
        owner.call("SET", f"key-{number}", number)
        owners.add(owner.port)

    assert owners == {node.port for node in cluster.nodes}
    assert {cluster_info(node)["cluster_slots_ok"] for node in cluster.nodes} == {"16384"}


def test_another_node_names_the_one_that_serves_a_key(cluster: RedisCluster) -> None:
    owner = cluster.master_of("a")
    other = next(node for node in cluster.nodes if node is not owner)

    with pytest.raises(RespError, match=f"MOVED {cluster.slot_of('a')} 127.0.0.1:{owner.port}"):
        other.call("GET", "a")


def test_its_bus_is_below_the_ports_of_clients_too(cluster: RedisCluster) -> None:
    assert all(node.port + 10_000 < 32768 for node in cluster.nodes)


def test_a_slot_moves_with_its_keys_by_way_of_ask(cluster: RedisCluster) -> None:
    slot = cluster.slot_of("{moves}")
    owner = cluster.master_of("{moves}")
    target = next(node for node in cluster.nodes if node is not owner)
    owner.call("SET", "{moves}1", "a")
    owner.call("SET", "{moves}2", "b")

    begin_move(cluster, slot, target)
    assert owner.call("GET", "{moves}1") == b"a"
    move_keys(cluster, slot, owner, target)
    with pytest.raises(RespError, match=f"ASK {slot} 127.0.0.1:{target.port}"):
        owner.call("GET", "{moves}1")

    end_move(cluster, slot, target)
    with pytest.raises(RespError, match=f"MOVED {slot} 127.0.0.1:{target.port}"):
        owner.call("GET", "{moves}1")
    assert target.call("MGET", "{moves}1", "{moves}2") == [b"a", b"b"]
    assert cluster.master_of("{moves}") is target

    move(cluster, slot, owner)
    assert owner.call("GET", "{moves}1") == b"a"


def test_a_node_that_was_killed_comes_back_to_its_cluster(slow_kind: Flavour) -> None:
    with RedisCluster(slow_kind, aof="always") as cluster:
        owner = cluster.master_of("a")
        owner.call("SET", "a", "b")
        owner.kill()
        witness = next(node for node in cluster.nodes if node.alive)
        until(lambda: cluster_info(witness)["cluster_state"] == "fail", "the others notice")

        owner.start()
        cluster.wait_until_whole()
        assert owner.call("GET", "a") == b"b"


def test_a_replica_takes_over_from_a_master_that_was_killed(slow_kind: Flavour) -> None:
    with RedisCluster(slow_kind, replicas=1, password="p/w") as cluster:
        former = cluster.master_of("a")
        former.call("SET", "a", "b")
        wait_until_replicated(former)
        former.kill()
        cluster.wait_until_whole()

        assert cluster.master_of("a") is not former
        assert cluster.master_of("a").call("GET", "a") == b"b"


def test_nothing_is_left_behind(slow_kind: Flavour) -> None:
    with no_leaks():
        with RedisCluster(slow_kind) as cluster:
            folders = [node.folder for node in cluster.nodes]
    assert not any(folder.exists() for folder in folders)
