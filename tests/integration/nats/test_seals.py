"""A seal is a message under the same comparison as any append: none that was on its way is stored behind it."""

from collections.abc import Callable, Iterator

import pytest
from tests.integration.nats.stores import created

import tailrace
from tailrace.errors import TopicSealedError
from tailrace.testing.faults import FlakyProxy
from tailrace.testing.reading import drain, numbered
from tailrace.testing.servers.nats import NatsServer

MARK = b"on its way"


@pytest.fixture(params=["shared", "dedicated"])
def url(request: pytest.FixtureRequest, server: NatsServer, stream: str) -> str:
    """A store that is there."""
    url = server.url(stream=stream, layout=request.param)
    created(url)
    return url


@pytest.fixture
def proxy(server: NatsServer) -> Iterator[FlakyProxy]:
    with FlakyProxy(server.address) as proxy:
        yield proxy


def before_it_arrives(proxy: FlakyProxy, act: Callable[[], None]) -> None:
    """Do something while an append, which has been sent, is held before the server."""
    done: list[bool] = []

    def hold(sent: bytes) -> bool:
        if MARK in sent and not done:
            done.append(True)
            act()
        return False

    proxy.drop_reply(hold)


@pytest.mark.parametrize("records", [0, 3])
@pytest.mark.parametrize("known", [False, True], ids=["first append", "appended before"])
def test_a_seal_that_comes_before_an_append_on_its_way_refuses_it(
    server: NatsServer, url: str, proxy: FlakyProxy, records: int, known: bool
) -> None:
    with (
        tailrace.connect(url) as sealing,
        tailrace.connect(url.replace(f":{server.port}/", f":{proxy.port}/")) as appending,
    ):
        sealing.topic("t").append_many(numbered(records))
        if known:
            appending.topic("t").append_many(numbered(1, records))
        before_it_arrives(proxy, lambda: sealing.topic("t").seal(error="over"))
        with pytest.raises(TopicSealedError):
            appending.topic("t").append(MARK)
        for streams in (sealing, appending):
            with streams.topic("t").subscribe_from_beginning() as subscription:
                assert drain(subscription) == numbered(records + known)
            assert subscription.end is not None
            assert subscription.end.error == "over"


def test_a_topic_that_is_deleted_before_an_append_on_its_way_is_born_again_by_it(
    server: NatsServer, url: str, proxy: FlakyProxy
) -> None:
    with (
        tailrace.connect(url) as operator,
        tailrace.connect(url.replace(f":{server.port}/", f":{proxy.port}/")) as appending,
    ):
        appending.topic("t").append(b"first life")
        old = appending.topic("t").checkpoint()
        before_it_arrives(proxy, lambda: operator.maintenance.delete("t") or None)
        appending.topic("t").append(MARK)
        with operator.topic("t").subscribe_from_beginning() as subscription:
            assert isinstance(record := subscription.receive(timeout=5), tailrace.DurableStreamRecord)
            assert record.payload == MARK
        with pytest.raises(tailrace.CursorUnavailableError):
            operator.topic("t").subscribe_from_cursor(old).__enter__()
