"""A server that can not serve for now says so in its own words: readers wait, appends are refused, nothing is lost."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from tests.integration.redis.crowd import Reader, until
from tests.integration.redis.steps import append, bounds, history, numbered, read, refused
from tests.integration.redis.test_cluster import one_on_each

import tailrace
from tailrace import DurableStreamUnavailableError, StoreUnusableError, StreamClient, spi
from tailrace.backends.redis import RedisStore
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.servers.redis import RedisCluster, RedisReplicas, RedisServer, RespError
from tailrace.testing.servers.redis.cluster_views import cluster_info


def open_store(url: str) -> RedisStore:
    store = spi.open_store(parse_url(url), StoreOptions(append_timeout=5.0))
    assert isinstance(store, RedisStore)
    return store


def everything_is_refused(store: spi.Backend, topic: str, said: str, *, writes: str = "") -> None:
    """Check that what asks or changes is told by an error that passes, and nothing by an error of the driver."""
    start = spi.Unborn(2**60, 0)
    outcome = read(store, topic, start)
    assert isinstance(outcome, spi.ReadFailed)
    told = [outcome.error, refused(store, topic, b"never")]
    asked: list[Callable[[], object]] = [lambda: store.bounds(topic), lambda: store.seal(topic, None)]
    for ask in asked:
        with pytest.raises(DurableStreamUnavailableError) as caught:
            ask()
        told.append(caught.value)
    for at, error in enumerate(told):
        assert not isinstance(error, StoreUnusableError)
        assert not error.maybe_stored
        # The second and the last one write.
        assert (writes or said if at % 2 else said) in str(error)


def answer(server: RedisServer) -> str:
    """Return the code that a server answers a question about a key with."""
    try:
        server.call("EXISTS", "any")
    except RespError as error:
        return error.code
    return ""


@contextmanager
def loading(server: RedisServer) -> Iterator[Callable[[], None]]:
    """Restart a server that is slow to read its data; within the block it reads, until the given function is called."""
    with server.connect() as connection:
        for number in range(2000):
            connection.call("SET", f"large:{number}", "x" * 2000)
    server.call("SAVE")
    server.kill()
    thread = threading.Thread(target=server.start, args=("--key-load-delay", "10000"))
    thread.start()

    def end() -> None:
        server.call("CONFIG", "SET", "key-load-delay", 0)
        thread.join()

    until(lambda: server.alive and is_loading(server))
    try:
        yield end
    finally:
        if thread.is_alive():
            end()


def is_loading(server: RedisServer) -> bool:
    try:
        return answer(server) == "LOADING"
    except OSError:
        return False


def test_readers_wait_while_a_server_reads_its_data_and_go_on_then() -> None:
    # It answers after so many bytes that it has read.
    settings = {"save": "3600 1", "rdbcompression": "no", "loading-process-events-interval-bytes": 1024}
    with RedisServer(settings=settings) as server, tailrace.connect(server.url) as streams:
        topic = streams.topic("t")
        topic.append_many(numbered(5))
        reader = Reader(topic)
        until(lambda: len(reader.found) == 5)
        with closing(open_store(server.url)) as store, loading(server) as end:
            everything_is_refused(store, "t", "loading")
            with pytest.raises(DurableStreamUnavailableError, match="loading") as caught:
                tailrace.connect(server.url, append_timeout=5.0)
            assert not isinstance(caught.value, StoreUnusableError)
            with pytest.raises(DurableStreamUnavailableError, match="loading") as caught:
                topic.append(b"never")
            assert not caught.value.maybe_stored
            assert answer(server) == "LOADING"
            end()
            topic.append_many(numbered(5, 5))
            topic.seal()
            reader.end()
            assert reader.failed is None
            assert reader.found == history(store, "t") == numbered(10)


def test_a_replica_whose_primary_is_away_is_waited_for() -> None:
    with RedisReplicas(settings={"replica-serve-stale-data": "no"}) as pair:
        master, (replica,) = pair.master, pair.replicas
        with closing(open_store(master.url)) as primary:
            append(primary, "t", b"a")
            until(lambda: replica.call("EXISTS", "tailrace:{t}:s") == 1)
        with closing(open_store(replica.url)) as store, StreamClient(open_store(replica.url)) as streams:
            reader = Reader(streams.topic("t"))
            until(lambda: reader.found == [b"a"])
            before = bounds(store, "t")
            master.kill()
            until(lambda: answer(replica) == "MASTERDOWN")
            everything_is_refused(store, "t", "primary is away", writes="primary")
            with pytest.raises(DurableStreamUnavailableError, match="primary is away"):
                open_store(replica.url)

            replica.call("REPLICAOF", "NO", "ONE")

            assert bounds(store, "t") == before
            append(store, "t", b"b")
            store.seal("t", None)
            reader.end()
            assert (reader.failed, reader.found) == (None, [b"a", b"b"])


def test_a_cluster_that_lacks_a_node_and_wants_to_be_whole_is_waited_for() -> None:
    with RedisCluster() as cluster:
        with closing(open_store(cluster.url)) as store, StreamClient(open_store(cluster.url)) as streams:
            lost, kept = cluster.nodes[0], cluster.nodes[1]
            topic = one_on_each(cluster, "tailrace")[kept.port]
            append(store, topic, b"a")
            reader = Reader(streams.topic(topic))
            until(lambda: reader.found == [b"a"])
            before = bounds(store, topic)
            lost.kill()
            until(lambda: all(cluster_info(node)["cluster_state"] == "fail" for node in cluster.nodes[1:]))
            everything_is_refused(store, topic, "cluster that is down")

            lost.start()
            cluster.wait_until_whole()

            assert bounds(store, topic) == before
            append(store, topic, b"b")
            store.seal(topic, None)
            reader.end()
            assert (reader.failed, reader.found) == (None, [b"a", b"b"])


def test_a_database_that_is_gone_after_a_restart_is_told() -> None:
    with RedisServer() as server, closing(open_store(server.url_for(database=5))) as store:
        append(store, "t", b"a")
        server.stop()
        server.start("--databases", "2")
        outcome = read(store, "t", spi.Unborn(2**60, 0))
        assert isinstance(outcome, spi.ReadFailed)
        told = [outcome.error, refused(store, "t")]
        with pytest.raises(StoreUnusableError) as caught:
            store.bounds("t")
        for error in (*told, caught.value):
            assert isinstance(error, StoreUnusableError)
            assert "no database of that number: change the URL" in str(error)
        # Nor is it written into another one.
        for number in (0, 1):
            with server.connect() as connection:
                connection.call("SELECT", number)
                assert connection.call("DBSIZE") == 0


def test_a_payload_that_the_server_does_not_take_is_told_and_not_stored() -> None:
    settings = {"proto-max-bulk-len": "1mb"}
    with RedisServer(settings=settings) as server, closing(open_store(server.url)) as store:
        append(store, "t", b"a")
        (outcome,) = store.append([spi.Entry("t", [b"x" * 2**21])], 10.0)
        # The server hangs up on it: what it has said before may be lost on the way.
        assert isinstance(outcome, spi.AppendRefused | spi.AppendUnknown)
        assert not isinstance(outcome, spi.AppendRefused) or "proto-max-bulk-len" in str(outcome.error)
        assert history(store, "t") == [b"a"]
