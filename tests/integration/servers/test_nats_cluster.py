"""A cluster is formed of real nodes; the one that leads a stream is found, killed, followed, and comes back."""

from collections.abc import Iterator

import pytest

from tailrace.testing.servers.nats import NatsCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[NatsCluster]:
    with NatsCluster() as cluster:
        cluster.call("STREAM.CREATE.events", name="events", subjects=["events.>"], storage="file", num_replicas=3)
        yield cluster


def test_every_node_knows_a_stream_and_who_leads_it(cluster: NatsCluster) -> None:
    leader = cluster.leader_of("events")
    for node in cluster.nodes.values():
        assert node.call("STREAM.INFO.events")["cluster"]["leader"] == leader.name
        assert node.port + 2 < 32768


def test_a_leader_steps_down_and_the_stream_has_one_again(cluster: NatsCluster) -> None:
    cluster.step_down("events")
    assert cluster.leader_of("events").alive


@pytest.mark.long
def test_a_leader_that_is_killed_is_followed_by_another_and_comes_back(cluster: NatsCluster) -> None:
    former = cluster.leader_of("events")
    with former.connect() as connection:
        connection.request("events.a", b"x")
    former.kill()
    assert cluster.leader_of("events") is not former
    with cluster.anyone().connect() as connection:
        connection.request("events.a", b"y")
    former.start()
    cluster.wait_until_whole()
    assert former.call("STREAM.INFO.events")["state"]["messages"] == 2
