"""S03 on PostgreSQL's wire: the server performs an append and its reply is lost, or the append never arrives."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.postgres_server import postgres_server

import tailrace
from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.faults import FlakyProxy
from tailrace.testing.reading import drain, numbered, payloads, take
from tailrace.testing.servers.postgres import PostgresServer

MARK = b"the one that is lost"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def proxy(server: PostgresServer) -> Iterator[FlakyProxy]:
    with FlakyProxy(server.address) as proxy:
        yield proxy


@pytest.fixture
def database(server: PostgresServer) -> Iterator[str]:
    name = server.create_database()
    yield name
    server.drop_database(name)


@pytest.fixture
def direct(server: PostgresServer, database: str) -> Iterator[tailrace.StreamClient]:
    """A client that speaks to the server itself."""
    with tailrace.connect(server.url(database), create=True) as streams:
        streams.topic("t").append(b"before")
        yield streams


@pytest.fixture
def through(
    server: PostgresServer, database: str, proxy: FlakyProxy, direct: tailrace.StreamClient
) -> Iterator[tailrace.StreamClient]:
    """A client behind the proxy, with a connection on which an append is prepared."""
    url = server.url(database, sslmode="disable").replace(f":{server.port}/", f":{proxy.port}/")
    with tailrace.connect(url, append_timeout=2.0) as streams:
        for number in range(10):
            streams.topic("warm").append(b"%d" % number)
        yield streams


def contents(streams: tailrace.StreamClient, topic: str) -> list[bytes]:
    with closing(streams.topic(topic).subscribe_from_beginning().__enter__()) as subscription:
        return payloads(take(subscription, streams.maintenance.topics(prefix=topic)[0].records))


@pytest.mark.parametrize("topic", ["t", "new"])
def test_an_append_whose_commit_is_not_answered_is_unknown_and_stored_at_most_once(
    through: tailrace.StreamClient, direct: tailrace.StreamClient, proxy: FlakyProxy, topic: str
) -> None:
    proxy.drop_reply(lambda sent: MARK in sent)
    with pytest.raises(DurableStreamUnavailableError) as caught:
        through.topic(topic).append(MARK)
    assert caught.value.maybe_stored is True
    through.topic(topic).append(b"after")
    before = [b"before"] if topic == "t" else []
    # A topic that is new is looked for first, and it is that answer which was lost.
    assert contents(direct, topic) == [*before, *([MARK] if topic == "t" else []), b"after"]


def test_a_batch_whose_commit_is_not_answered_is_stored_once(
    through: tailrace.StreamClient, direct: tailrace.StreamClient, proxy: FlakyProxy
) -> None:
    proxy.drop_reply(lambda sent: MARK in sent)
    with pytest.raises(DurableStreamUnavailableError) as caught:
        through.topic("t").append_many([MARK, *numbered(499)])
    assert caught.value.maybe_stored is True
    assert contents(direct, "t") == [b"before", MARK, *numbered(499)]


def test_connections_that_were_cut_while_idle_are_noticed_before_anything_is_sent(
    through: tailrace.StreamClient, direct: tailrace.StreamClient, proxy: FlakyProxy
) -> None:
    assert proxy.cut()
    through.topic("t").append(b"x")
    assert contents(direct, "t") == [b"before", b"x"]


def test_a_seal_whose_reply_is_lost_may_be_repeated(through: tailrace.StreamClient, proxy: FlakyProxy) -> None:
    proxy.drop_reply(lambda sent: b"first reason" in sent)
    with pytest.raises(DurableStreamUnavailableError) as caught:
        through.topic("t").seal(error="first reason")
    assert caught.value.maybe_stored is True
    through.topic("t").seal(error="second reason")
    with through.topic("t").subscribe_from_beginning() as subscription:
        assert drain(subscription) == [b"before"]
    assert subscription.end is not None
    assert subscription.end.error == "first reason"


def test_a_read_whose_reply_is_lost_is_made_again(
    through: tailrace.StreamClient, direct: tailrace.StreamClient, proxy: FlakyProxy
) -> None:
    lost: list[bytes] = []

    def reads(sent: bytes) -> bool:
        # The name of the followed topic, in what is no append of ours: a read of it.
        if b"followed" not in sent:
            return False
        lost.append(sent)
        return True

    with through.topic("followed").subscribe_from_tail() as subscription:
        proxy.drop_reply(reads)
        direct.topic("followed").append_many(numbered(20))
        assert payloads(take(subscription, 20)) == numbered(20)
    assert lost
