"""Replicas follow, can be made to lag, and take over under the eyes of real sentinels."""

from collections.abc import Iterator

import pytest

from tailrace.testing.leaks import no_leaks
from tailrace.testing.servers.redis import Flavour, RedisReplicas, RedisSentinel, RespError, hold, release
from tailrace.testing.servers.redis.replicas import wait_until_heard, wait_until_replicated
from tailrace.testing.servers.waiting import until

# What these servers are for shows every day that they work: tests/integration/redis.
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def sentinel(slow_kind: Flavour) -> Iterator[RedisSentinel]:
    with RedisSentinel(slow_kind, password="p/w") as sentinel:
        yield sentinel


@pytest.fixture
def calm(sentinel: RedisSentinel) -> RedisSentinel:
    """All servers up and in step, whatever the test before did."""
    for server in sentinel.servers:
        server.start()
    sentinel.wait_until_calm()
    return sentinel


def test_what_the_master_writes_reaches_its_replicas(slow_kind: Flavour) -> None:
    with RedisReplicas(slow_kind, replicas=2, password="p/w") as replication:
        replication.master.call("SET", "a", "b")
        wait_until_replicated(replication.master)
        assert [replica.call("GET", "a") for replica in replication.replicas] == [b"b", b"b"]
        with pytest.raises(RespError, match="READONLY"):
            replication.replicas[0].call("SET", "a", "c")


def test_a_replica_that_is_held_misses_every_write_until_it_is_released(slow_kind: Flavour) -> None:
    with RedisReplicas(slow_kind) as replication:
        master, replica = replication.servers
        master.call("SET", "a", "before")
        wait_until_replicated(master)
        hold(replica, master)
        master.call("SET", "a", "meanwhile")
        assert replica.call("GET", "a") == b"before"
        assert master.call("WAIT", 1, 20) == 0

        release(replica)
        wait_until_heard(replica, master)
        assert replica.call("GET", "a") == b"meanwhile"


def test_a_replica_follows_again_after_a_restart(slow_kind: Flavour) -> None:
    with RedisReplicas(slow_kind) as replication:
        master, replica = replication.servers
        replica.kill()
        master.call("SET", "a", "b")
        replica.start()
        wait_until_heard(replica, master)
        assert replica.call("GET", "a") == b"b"


def test_sentinels_fail_over_when_they_are_told_to(calm: RedisSentinel) -> None:
    former = calm.master
    former.call("SET", "a", "told")
    wait_until_replicated(former)

    master = calm.failover()

    assert master is not former
    assert master.call("GET", "a") == b"told"
    calm.wait_until_calm()
    assert calm.replicas == [former]


def test_sentinels_replace_a_master_that_was_killed(calm: RedisSentinel) -> None:
    former = calm.master
    former.call("SET", "a", "killed")
    wait_until_replicated(former)

    master = calm.kill_master()

    assert master is not former
    assert master.call("GET", "a") == b"killed"
    assert not former.alive


def test_a_lagging_replica_takes_over_without_what_it_missed(calm: RedisSentinel) -> None:
    former, (replica,) = calm.master, calm.replicas
    former.call("SET", "a", "before")
    # Asked of the replica itself: that it follows is said before it has everything.
    until(lambda: replica.call("GET", "a") == b"before", "the replica has it")
    hold(replica, former)
    former.call("SET", "a", "missed")

    assert calm.kill_master() is replica

    assert replica.call("GET", "a") == b"before"
    release(replica)
    former.start()
    calm.wait_until_calm()
    assert former.call("GET", "a") == b"before"


def test_nothing_is_left_behind(slow_kind: Flavour) -> None:
    with no_leaks():
        with RedisSentinel(slow_kind) as sentinel:
            folders = [node.folder for node in (*sentinel.servers, *sentinel.sentinels)]
    assert not any(folder.exists() for folder in folders)
