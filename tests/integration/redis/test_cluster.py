"""A cluster whose slots move and whose nodes die: nothing lost, doubled or reordered, and neighbours do not notice."""

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator

import pytest
import redis
from tests.integration.redis.crowd import Crowd, Reader, in_order, until
from tests.integration.redis.steps import append, bounds, history, numbered, payloads, read, refused
from tests.integration.redis.test_rights import APPENDER, READER

from tailrace import StreamClient, spi
from tailrace.backends.redis import RedisStore
from tailrace.backends.redis.keys import Keys, TopicKeys
from tailrace.errors import StoreUnusableError
from tailrace.options import EngineOptions, StoreOptions, parse_url
from tailrace.retention import Retention
from tailrace.testing.faults.resp_proxy import RespProxy
from tailrace.testing.servers.redis import RedisCluster, RedisServer, flavour
from tailrace.testing.servers.redis.resharding import begin_move, end_move, move, move_keys

OpenStore = Callable[..., RedisStore]

# Hints that are lost are made up for so late that a test which needs it fails: also a store that is well is looked at
# now and then, but less often.
NO_FALLBACK = EngineOptions(poll_healthy=60.0, poll_unsure=60.0)
HINTED = 5.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster(aof="always", settings={"cluster-require-full-coverage": "no"}) as cluster:
        yield cluster


@pytest.fixture
def prefix() -> str:
    return f"t-{secrets.token_hex(4)}"


@pytest.fixture
def open_store(cluster: RedisCluster, prefix: str) -> Iterator[OpenStore]:
    for node in cluster.nodes:
        node.start()
    cluster.wait_until_whole()
    opened: list[RedisStore] = []

    def opener(**options: object) -> RedisStore:
        url = parse_url(f"{cluster.url}/?prefix={prefix}")
        store = spi.open_store(url, StoreOptions(**options))  # type: ignore[arg-type]
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
    with StreamClient(open_store(), options=NO_FALLBACK) as client:
        yield client


@pytest.fixture
def others(open_store: OpenStore) -> Iterator[StreamClient]:
    with StreamClient(open_store(), options=NO_FALLBACK) as client:
        yield client


def keys_of(prefix: str, topic: str) -> TopicKeys:
    return Keys(prefix).of(topic)


def elsewhere(cluster: RedisCluster, key: bytes) -> RedisServer:
    owner = cluster.master_of(key)
    return next(node for node in cluster.nodes if node is not owner)


def one_on_each(cluster: RedisCluster, prefix: str) -> dict[int, str]:
    """Return a topic on each node, by the node's port."""
    found: dict[int, str] = {}
    for topic in (f"t{number}" for number in range(1000)):
        found.setdefault(cluster.master_of(keys_of(prefix, topic).stream).port, topic)
        if len(found) == len(cluster.nodes):
            return found
    raise AssertionError(f"no topic is on some of the {len(cluster.nodes)} nodes: {found}")


def test_hints_stay_on_the_nodes_of_their_topics(store: RedisStore) -> None:
    assert store._nodes.sharded is True


def test_a_slot_that_moves_back_and_forth_loses_doubles_and_reorders_nothing(
    cluster: RedisCluster, streams: StreamClient, others: StreamClient, prefix: str
) -> None:
    stream = keys_of(prefix, "moving").stream
    slot = cluster.slot_of(stream)
    with (
        Crowd(streams, others, "moving") as crowd,
        Crowd(streams, others, "neighbour", writers=1, readers=1) as neighbours,
    ):
        crowd.until_read(20, HINTED)
        for _ in range(3):
            target = elsewhere(cluster, stream)
            source = begin_move(cluster, slot, target)
            crowd.until_read(20, HINTED)
            move_keys(cluster, slot, source, target)
            # From here on by way of ASK, and hints go to where the readers still listen.
            crowd.until_read(20, HINTED)
            end_move(cluster, slot, target)
            crowd.until_read(20, HINTED)
            neighbours.until_read(5, HINTED)
        crowd.end()
        neighbours.end()

    for some in (crowd, neighbours):
        assert some.unknown == set()
        for reader in some.readers:
            assert reader.lost is None
            assert in_order(reader.found)
            assert set(reader.found) == some.acknowledged
    assert crowd.readers[0].found == crowd.readers[1].found


def test_a_store_that_knew_the_slots_before_they_moved_finds_everything(
    cluster: RedisCluster, open_store: OpenStore, prefix: str
) -> None:
    store = open_store()
    topics = [f"t{number}" for number in range(30)]
    for topic in topics:
        append(store, topic, b"before")
    for topic in topics[:10]:
        stream = keys_of(prefix, topic).stream
        move(cluster, cluster.slot_of(stream), elsewhere(cluster, stream))

    outcomes = store.append([spi.Entry(topic, [b"after"]) for topic in topics], 10.0)

    assert {type(outcome) for outcome in outcomes} == {spi.Appended}
    pages = store.read([spi.ReadRequest(topic, bounds(store, topic).beginning, 10, 1000) for topic in topics])
    assert [payloads(page) for page in pages] == [[b"before", b"after"]] * len(topics)


def test_a_topic_that_is_halfway_moved_is_refused_for_a_moment_and_never_taken_for_lost(
    cluster: RedisCluster, store: RedisStore, prefix: str
) -> None:
    keys = keys_of(prefix, "split")
    end = append(store, "split", b"1")
    slot = cluster.slot_of(keys.stream)
    for first, second in ((keys.identity, keys.stream), (keys.stream, keys.identity)):
        target = elsewhere(cluster, keys.stream)
        source = begin_move(cluster, slot, target)
        source.call("MIGRATE", *target.address, "", 0, 10_000, "KEYS", first)

        assert "moving" in str(refused(store, "split", b"2"))
        outcome = read(store, "split", end)
        assert isinstance(outcome, spi.ReadFailed)
        assert not isinstance(outcome.error, StoreUnusableError)

        source.call("MIGRATE", *target.address, "", 0, 10_000, "KEYS", second)
        assert payloads(read(store, "split", end)) == []
        end_move(cluster, slot, target)
        end = append(store, "split", b"2")
    assert payloads(read(store, "split", bounds(store, "split").beginning)) == [b"1", b"2", b"2"]


def test_a_new_topic_in_a_slot_that_is_moving_is_refused_or_stored_and_nothing_between(
    cluster: RedisCluster, store: RedisStore, prefix: str
) -> None:
    stream = keys_of(prefix, "new").stream
    slot, target = cluster.slot_of(stream), elsewhere(cluster, stream)
    begin_move(cluster, slot, target)
    refused(store, "new", b"1")
    assert isinstance(store.bounds("new"), spi.Unborn)
    end_move(cluster, slot, target)
    append(store, "new", b"1")
    assert payloads(read(store, "new", bounds(store, "new").beginning)) == [b"1"]


def test_a_node_that_is_killed_costs_its_own_topics_an_answer_and_nobody_elses(
    cluster: RedisCluster, store: RedisStore, streams: StreamClient, prefix: str
) -> None:
    topics = one_on_each(cluster, prefix)
    victim = cluster.nodes[1]
    dead = topics.pop(victim.port)
    for topic in (dead, *topics.values()):
        append(store, topic, b"before")
    readers = {topic: Reader(streams.topic(topic)) for topic in (dead, *topics.values())}
    until(lambda: all(reader.found == [b"before"] for reader in readers.values()))

    victim.kill()
    began = time.monotonic()
    outcomes = store.append([spi.Entry(topic, [b"meanwhile"]) for topic in (dead, *topics.values())], 10.0)
    assert [type(outcome) for outcome in outcomes] == [spi.AppendRefused, spi.Appended, spi.Appended]
    assert time.monotonic() - began < 5
    for topic in topics.values():
        until(lambda topic=topic: readers[topic].found == [b"before", b"meanwhile"])  # type: ignore[misc]

    victim.start()
    cluster.wait_until_whole()
    append(store, dead, b"after")
    until(lambda: readers[dead].found == [b"before", b"after"])
    append(store, dead, b"and on")
    until(lambda: readers[dead].found == [b"before", b"after", b"and on"])
    for reader in readers.values():
        reader.abandon()
        assert reader.lost is None
        assert reader.failed is None


def test_a_node_that_hangs_keeps_its_own_topics_waiting_once_and_the_others_hardly_ever(
    cluster: RedisCluster, store: RedisStore, prefix: str
) -> None:
    topics = one_on_each(cluster, prefix)
    victim = cluster.nodes[2]
    hanging = topics.pop(victim.port)
    entries = [spi.Entry(topic, [b"x"]) for topic in (hanging, *topics.values())]
    store.append(entries, 10.0)
    victim.freeze()
    try:
        outcomes = store.append(entries, 1.0)
        assert [type(outcome) for outcome in outcomes] == [spi.AppendUnknown, spi.Appended, spi.Appended]
        # Nothing is sent to it before it has answered, so nothing is unknown any more.
        began = time.monotonic()
        outcomes = store.append(entries, 10.0)
        assert [type(outcome) for outcome in outcomes] == [spi.AppendRefused, spi.Appended, spi.Appended]
        assert time.monotonic() - began < 5
    finally:
        victim.thaw()

    cluster.wait_until_whole()
    until(lambda: isinstance(store.append(entries[:1], 1.0)[0], spi.Appended))
    found = payloads(read(store, hanging, bounds(store, hanging).beginning))
    assert 2 <= len(found) <= 3


def test_a_reply_of_one_node_that_is_lost_is_unknown_for_its_topics_only(cluster: RedisCluster, prefix: str) -> None:
    cluster.wait_until_whole()
    topics = one_on_each(cluster, prefix)
    with contextlib.ExitStack() as stack:
        proxies = {node.port: stack.enter_context(RespProxy(("127.0.0.1", node.port))) for node in cluster.nodes}

        def through(address: tuple[str, int]) -> tuple[str, int]:
            return "127.0.0.1", proxies[address[1]].port if address[1] in proxies else address[1]

        first = cluster.nodes[0].port
        client = redis.RedisCluster("127.0.0.1", proxies[first].port, address_remap=through, protocol=2)
        stack.callback(client.close)
        store = RedisStore(client, prefix=prefix)
        stack.callback(store.close)
        entries = [spi.Entry(topic, [b"x"]) for topic in topics.values()]
        assert {type(outcome) for outcome in store.append(entries, 10.0)} == {spi.Appended}
        loss = proxies[first].lose_reply("^EVALSHA")

        outcomes = store.append(entries, 10.0)

        assert loss.happened.is_set()
        told = dict(zip(topics, (type(outcome) for outcome in outcomes), strict=True))
        assert told.pop(first) is spi.AppendUnknown
        assert set(told.values()) == {spi.Appended}
        for topic in topics.values():
            # Once: it was not sent again, and not by way of another node either.
            assert payloads(read(store, topic, bounds(store, topic).beginning)) == [b"x", b"x"]
        assert all(proxy.seen["EVALSHA"] for proxy in proxies.values())


def test_the_least_rights_are_enough_in_a_cluster_too(cluster: RedisCluster, store: RedisStore, prefix: str) -> None:
    topics = one_on_each(cluster, prefix)
    connect = ["+cluster|slots", "+asking"]
    rights = {
        "reader": [*connect, *READER, "+ssubscribe", "+sunsubscribe"],
        "appender": [*connect, *APPENDER, "+spublish"],
    }
    users = {}
    for name, commands in rights.items():
        for node in cluster.nodes:
            node.call("ACL", "SETUSER", name, "reset", "on", ">pw", f"~{prefix}:*", f"&{prefix}:*", *commands)
        url = cluster.url.replace("://", f"://{name}:pw@") + f"?prefix={prefix}"
        users[name] = spi.open_store(parse_url(url), StoreOptions())
    watch = users["reader"].watch()
    watch.follow(topics.values(), ())
    for topic in topics.values():
        (outcome,) = users["appender"].append([spi.Entry(topic, [b"x"])], 10.0)
        assert isinstance(outcome, spi.Appended)
        assert watch.wait(5.0).topics == {topic}
        assert payloads(read(users["reader"], topic, bounds(users["reader"], topic).beginning)) == [b"x"]
    watch.close()
    for user in users.values():
        user.close()


def test_listings_trims_and_sweeps_reach_every_node(cluster: RedisCluster, open_store: OpenStore, prefix: str) -> None:
    topics = one_on_each(cluster, prefix)
    before = open_store()
    for topic in topics.values():
        append(before, topic, *numbered(10))
    assert [info.name for info in before.topics()] == sorted(topics.values(), key=str.encode)
    assert before.trim(topics[cluster.nodes[0].port], Retention(max_records=8)) == 2

    report = open_store(retention=Retention(max_records=3)).sweep(spi.SweepBudget())

    assert report.done
    assert (report.topics, report.records) == (3, 5 + 7 + 7)
    assert {info.records for info in before.topics()} == {3}
    for topic in topics.values():
        assert before.delete(topic) is True
    assert before.topics() == []


def test_a_node_that_is_away_does_not_keep_the_others_from_being_swept(
    cluster: RedisCluster, open_store: OpenStore, prefix: str
) -> None:
    topics = one_on_each(cluster, prefix)
    store = open_store(retention=Retention(max_records=3))
    before = open_store()
    for topic in topics.values():
        append(before, topic, *numbered(10))
    for victim in cluster.nodes:
        victim.kill()
        report = store.sweep(spi.SweepBudget())
        assert not report.done
        assert report.topics == 2
        victim.start()
        cluster.wait_until_whole()
        # A listing that lacks some of them would be taken for the truth.
        until(lambda: len(before.topics()) == 3)
    assert {info.records for info in before.topics()} == {3}
    assert store.sweep(spi.SweepBudget()).done


def test_one_node_of_a_cluster_is_not_taken_for_a_server(cluster: RedisCluster) -> None:
    with pytest.raises(StoreUnusableError, match=r"connect with redis\+cluster://"):
        spi.open_store(parse_url(cluster.nodes[0].url), StoreOptions())


def test_a_server_is_not_taken_for_a_cluster() -> None:
    with RedisServer() as server, pytest.raises(StoreUnusableError, match="connect with redis://"):
        spi.open_store(parse_url(f"redis+cluster://127.0.0.1:{server.port}"), StoreOptions())


@pytest.mark.parametrize("kind", ["redis-6.2", "redis-7", "valkey"])
@pytest.mark.long
def test_a_replica_takes_over_and_readers_go_on(kind: str) -> None:
    with RedisCluster(flavour(kind), replicas=1, password="p/w") as cluster:
        store = spi.open_store(parse_url(cluster.url), StoreOptions())
        stream = keys_of("tailrace", "t").stream
        others = spi.open_store(parse_url(cluster.url), StoreOptions())
        with (
            StreamClient(store) as streams,
            StreamClient(others) as client,
            Crowd(streams, client, "t", pause=0.02) as crowd,
        ):
            crowd.until_read(20)
            master = cluster.master_of(stream)
            master.kill()
            crowd.until_read(20)
            crowd.end()
            final = history(store, "t")
        crowd.check(final)
        # Everything of after the failover is there: the last of each writer is.
        assert {writer.acknowledged[-1] for writer in crowd.writers} <= set(final)
