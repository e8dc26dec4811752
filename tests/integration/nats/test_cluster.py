"""Three nodes: the leader of a stream is killed, steps down, or hangs; what was acknowledged stays, readers go on."""

from collections.abc import Iterator

import pytest
from tests.faults.killing import survive
from tests.http.reader import Reader, path_of
from tests.http.server import LocalServer
from tests.integration.nats.stores import contents, created, opened, stored

import tailrace
from tailrace import spi
from tailrace.testing.reading import Background, numbered
from tailrace.testing.servers.nats import NatsCluster

STREAM = "events"


@pytest.fixture(scope="module")
def cluster() -> Iterator[NatsCluster]:
    with NatsCluster() as cluster:
        yield cluster


@pytest.fixture(params=["shared", pytest.param("dedicated", marks=pytest.mark.long)])
def url(request: pytest.FixtureRequest, cluster: NatsCluster) -> Iterator[str]:
    """A store with a replica on every node; all of them are up, whatever the test before did."""
    for node in cluster.nodes.values():
        node.start()
    cluster.wait_until_whole()
    url = cluster.url(stream=STREAM, replicas="3", layout=request.param)
    created(url)
    yield url
    for node in cluster.nodes.values():
        node.start()
    cluster.wait_until_whole()
    for name in cluster.streams():
        cluster.drop(name)


def _stream_of(cluster: NatsCluster, topic: str) -> str:
    """The stream that holds the only topic there is."""
    names = [name for name in cluster.streams() if not name.startswith("KV_")]
    assert names, topic
    return max(names, key=len)


def test_every_stream_has_as_many_replicas_as_the_url_says(cluster: NatsCluster, url: str) -> None:
    with opened(url, create=False) as store:
        stored(store, "t", b"x")
    for name in cluster.streams():
        assert cluster.call(f"STREAM.INFO.{name}")["config"]["num_replicas"] == 3


def test_a_leader_that_steps_down_is_followed_without_anybody_noticing(cluster: NatsCluster, url: str) -> None:
    with tailrace.connect(url, append_timeout=60.0) as streams:
        topic = streams.topic("t")
        topic.append(b"first")
        with topic.subscribe_from_beginning() as subscription:
            for number in range(3):
                cluster.step_down(_stream_of(cluster, "t"))
                topic.append(b"%d" % number)
            found = [subscription.receive(timeout=20) for _ in range(4)]
    payloads = [record.payload for record in found if isinstance(record, tailrace.DurableStreamRecord)]
    assert payloads == [b"first", b"0", b"1", b"2"]


@pytest.mark.long
def test_any_node_may_be_away_and_the_others_serve(cluster: NatsCluster, url: str) -> None:
    with opened(url, create=False) as store:
        stored(store, "t", b"0")
        leader = cluster.leader_of(_stream_of(cluster, "t"))
        away = next(node for node in cluster.nodes.values() if node is not leader)
        away.kill()
        stored(store, "t", b"1")
        with opened(url, create=False) as late:
            assert contents(late, "t") == [b"0", b"1"]
        away.start()
        cluster.wait_until_whole()
        assert contents(store, "t") == [b"0", b"1"]


@pytest.mark.long
def test_ten_leaders_are_killed_under_eight_writers(cluster: NatsCluster, url: str) -> None:
    with opened(url, create=False) as store:
        stored(store, "t", b"before")
        assert isinstance(store, spi.Maintenance)
        assert store.delete("t")
    stream = _stream_of(cluster, "t")
    print(survive(url, lambda: _kill_the_leader(cluster, stream), patience=60.0))  # noqa: T201


def _kill_the_leader(cluster: NatsCluster, stream: str) -> None:
    leader = cluster.leader_of(stream)
    leader.kill()
    cluster.leader_of(stream)
    leader.start()
    cluster.wait_until_whole()


@pytest.mark.long
def test_a_leader_that_hangs_is_followed_and_what_it_says_afterwards_counts_for_nothing(
    cluster: NatsCluster, url: str
) -> None:
    with tailrace.connect(url) as streams, tailrace.connect(url, outage_budget=60.0) as reading:
        topic = streams.topic("t")
        topic.append(b"0")
        with reading.topic("t").subscribe_from_beginning() as subscription:
            leader = cluster.leader_of(_stream_of(cluster, "t"))
            leader.freeze()
            try:
                written = Background(lambda: _append_until_known(topic, b"1"))
                assert written.result(60)
            finally:
                leader.thaw()
            cluster.wait_until_whole()
            topic.append(b"2")
            topic.seal()
            found = []
            while (record := subscription.receive(timeout=30)) is not tailrace.CLOSED:
                assert record is not None
                found.append(record.payload)
    # One whose outcome nobody knew may be there twice: the caller appended it again.
    assert sorted(set(found)) == numbered(3)
    assert found == sorted(found)


def _append_until_known(topic: tailrace.Topic, payload: bytes) -> bool:
    for _ in range(20):
        try:
            topic.append(payload)
        except tailrace.DurableStreamUnavailableError:
            continue
        return True
    return False


@pytest.mark.long
def test_a_browser_sees_neither_gap_nor_repeat_across_changes_of_the_leader(cluster: NatsCluster, url: str) -> None:
    with LocalServer(url) as server, tailrace.connect(url, append_timeout=60.0) as writing:
        topic = writing.topic("t")
        topic.append(b"before")
        stream = _stream_of(cluster, "t")
        with Reader(server.port, path_of("t", start="tail")) as live:
            live.until(lambda seen: bool(seen.last_id))
            appended = 0
            for number in range(6):
                for _ in range(20):
                    topic.append(b"%d" % appended)
                    appended += 1
                if number % 3 == 1:
                    _kill_the_leader(cluster, stream)
                else:
                    cluster.step_down(stream)
            topic.seal()
            live.to_end()
        assert live.payloads == [b"%d" % number for number in range(appended)]
        with Reader(server.port, path_of("t", start="beginning")) as again:
            again.to_end()
        assert again.payloads == [b"before", *live.payloads]
