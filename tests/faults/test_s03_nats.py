"""S03 on the wire of NATS: the server stores an append and its acknowledgement is lost, or the append never arrives."""

import secrets
from collections.abc import Iterator
from contextlib import closing

import pytest

import tailrace
from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.faults import FlakyProxy
from tailrace.testing.reading import drain, numbered, payloads, take
from tailrace.testing.servers.nats import NatsServer

MARK = b"the one that is lost"


@pytest.fixture(scope="module")
def server() -> Iterator[NatsServer]:
    with NatsServer() as server:
        yield server


@pytest.fixture
def proxy(server: NatsServer) -> Iterator[FlakyProxy]:
    with FlakyProxy(server.address) as proxy:
        yield proxy


@pytest.fixture(params=["shared", pytest.param("dedicated", marks=pytest.mark.long)])
def url(request: pytest.FixtureRequest, server: NatsServer) -> str:
    """A store of its own."""
    return server.url(stream=f"t{secrets.token_hex(4)}", layout=request.param)


@pytest.fixture
def direct(url: str) -> Iterator[tailrace.StreamClient]:
    """A client that speaks to the server itself."""
    with tailrace.connect(url, create=True) as streams:
        streams.topic("t").append(b"before")
        yield streams


@pytest.fixture
def through(
    url: str, server: NatsServer, proxy: FlakyProxy, direct: tailrace.StreamClient
) -> Iterator[tailrace.StreamClient]:
    """A client behind the proxy that has appended before."""
    with tailrace.connect(url.replace(f":{server.port}/", f":{proxy.port}/"), append_timeout=2.0) as streams:
        for number in range(3):
            streams.topic("warm").append(b"%d" % number)
        yield streams


def contents(streams: tailrace.StreamClient, topic: str) -> list[bytes]:
    with closing(streams.topic(topic).subscribe_from_beginning().__enter__()) as subscription:
        return payloads(take(subscription, streams.maintenance.topics(prefix=topic)[0].records))


@pytest.mark.parametrize("topic", ["t", "warm"])
def test_an_append_whose_acknowledgement_is_lost_is_looked_for_and_stored_once(
    through: tailrace.StreamClient, direct: tailrace.StreamClient, proxy: FlakyProxy, topic: str
) -> None:
    before = {"t": [b"before"], "warm": numbered(3)}[topic]
    proxy.drop_reply(lambda sent: MARK in sent)
    through.topic(topic).append(MARK)
    through.topic(topic).append(b"after")
    assert contents(direct, topic) == [*before, MARK, b"after"]


def test_the_first_append_of_a_topic_whose_acknowledgement_is_lost_is_stored_at_most_once(
    through: tailrace.StreamClient, direct: tailrace.StreamClient, proxy: FlakyProxy
) -> None:
    proxy.drop_reply(lambda sent: MARK in sent)
    stored = [MARK]
    try:
        through.topic("new").append(MARK)
    except DurableStreamUnavailableError as error:
        # There was no stream for it yet, and it was the answer to that which was lost.
        born = direct.maintenance.topics(prefix="new")
        stored = contents(direct, "new") if born else []
        assert stored in ([], [MARK] if error.maybe_stored else [])  # noqa: PT017
    through.topic("new").append(b"after")
    assert contents(direct, "new") == [*stored, b"after"]


@pytest.mark.parametrize("which", ["requests", "replies"])
def test_an_append_that_is_never_answered_is_unknown_and_stored_at_most_once(
    through: tailrace.StreamClient, direct: tailrace.StreamClient, proxy: FlakyProxy, which: str
) -> None:
    proxy.stall(requests=which == "requests", replies=which == "replies")
    with pytest.raises(DurableStreamUnavailableError) as caught:
        through.topic("warm").append(MARK)
    assert caught.value.maybe_stored is True
    proxy.flow()
    through.topic("warm").append(b"after")
    found = contents(direct, "warm")
    # One that was held up may have come too late.
    assert found in ([*numbered(3), MARK, b"after"], *([[*numbered(3), b"after"]] if which == "requests" else []))


def test_a_batch_whose_acknowledgement_is_lost_is_stored_once(
    through: tailrace.StreamClient, direct: tailrace.StreamClient, proxy: FlakyProxy
) -> None:
    proxy.drop_reply(lambda sent: MARK in sent)
    through.topic("t").append_many([MARK, *numbered(499)])
    assert contents(direct, "t") == [b"before", MARK, *numbered(499)]


def test_connections_that_were_cut_while_idle_lose_and_double_nothing(
    through: tailrace.StreamClient, direct: tailrace.StreamClient, proxy: FlakyProxy
) -> None:
    assert proxy.cut()
    through.topic("t").append(b"x")
    assert contents(direct, "t") == [b"before", b"x"]


def test_what_somebody_else_stored_at_the_same_place_is_not_taken_for_ours(
    through: tailrace.StreamClient, direct: tailrace.StreamClient, proxy: FlakyProxy
) -> None:
    def overtaken(sent: bytes) -> bool:
        if MARK not in sent:
            return False
        # Ours has not been forwarded yet: it will come second, and be refused.
        direct.topic("t").append(MARK)
        return True

    through.topic("t").append(b"ours")
    proxy.drop_reply(overtaken)
    try:
        through.topic("t").append(MARK)
    except DurableStreamUnavailableError as error:
        assert error.maybe_stored is False  # noqa: PT017
        assert contents(direct, "t") == [b"before", b"ours", MARK]
    else:
        assert contents(direct, "t") == [b"before", b"ours", MARK, MARK]


def test_a_seal_whose_reply_is_lost_is_sealed_once(
    through: tailrace.StreamClient, direct: tailrace.StreamClient, proxy: FlakyProxy
) -> None:
    proxy.drop_reply(lambda sent: b"first reason" in sent)
    try:
        through.topic("t").seal(error="first reason")
    except DurableStreamUnavailableError as error:
        assert error.maybe_stored is True  # noqa: PT017
    through.topic("t").seal(error="second reason")
    with direct.topic("t").subscribe_from_beginning() as subscription:
        assert drain(subscription) == [b"before"]
    assert subscription.end is not None
    assert subscription.end.error == "first reason"


def test_a_reader_whose_connection_is_cut_again_and_again_misses_and_repeats_nothing(
    through: tailrace.StreamClient, direct: tailrace.StreamClient, proxy: FlakyProxy
) -> None:
    with through.topic("followed").subscribe_from_tail() as subscription:
        found: list[bytes] = []
        for number in range(5):
            direct.topic("followed").append_many(numbered(20, 20 * number))
            proxy.cut()
            found += payloads(take(subscription, 20))
    assert found == numbered(100)
