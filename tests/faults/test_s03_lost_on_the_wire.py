"""S03 on the wire: the server performs a script and its reply is lost, or the script never arrives."""

import secrets
from collections.abc import Iterator

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tailrace.backends.redis import RedisStore
from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.drivers import Client
from tailrace.testing.faults import RespProxy
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import drain, numbered, payloads, take
from tailrace.testing.servers.redis import RedisServer
from tailrace.testing.stores import StoreUnderTest


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


class ServerUnderTest(StoreUnderTest):
    """Keys of its own on one server, without the proxy."""

    name = "redis"

    def __init__(self, port: int) -> None:
        super().__init__()
        self.keys = secrets.token_hex(4)
        self._client = redis.Redis(port=port)

    def open(self, options: object = None) -> RedisStore:
        return RedisStore(self._client, prefix=self.keys)

    def close(self) -> None:
        super().close()
        self._client.close()


@pytest.fixture
def store_under_test(server: RedisServer) -> ServerUnderTest:
    return ServerUnderTest(server.port)


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[RespProxy]:
    with RespProxy(("127.0.0.1", server.port)) as proxy:
        yield proxy


@pytest.fixture
def through(connect: Connect, proxy: RespProxy, store_under_test: ServerUnderTest) -> Iterator[Client]:
    """A client behind the proxy, made of one that would send everything ten times."""
    eager = redis.Redis(
        port=proxy.port,
        retry=Retry(NoBackoff(), 10),
        retry_on_error=[redis.ConnectionError, redis.TimeoutError],
        socket_timeout=5,
    )
    client = connect(RedisStore(eager, prefix=store_under_test.keys))
    client.topic("warm").append(b"the script is known")
    yield client
    eager.close()


def test_an_append_whose_reply_is_lost_is_one_record_and_told_as_unknown(
    through: Client, proxy: RespProxy, store: StoreUnderTest, name: str
) -> None:
    loss = proxy.lose_reply("^EVALSHA")
    with pytest.raises(DurableStreamUnavailableError) as caught:
        through.topic(name).append(b"x")
    assert loss.happened.is_set()
    assert caught.value.maybe_stored is True
    assert store.contents(name) == [b"x"]
    through.topic(name).append(b"y")
    assert store.contents(name) == [b"x", b"y"]


def test_a_batch_whose_reply_is_lost_is_stored_once(
    through: Client, proxy: RespProxy, store: StoreUnderTest, name: str
) -> None:
    proxy.lose_reply("^EVALSHA")
    with pytest.raises(DurableStreamUnavailableError) as caught:
        through.topic(name).append_many(numbered(500))
    assert caught.value.maybe_stored is True
    assert store.contents(name) == numbered(500)


def test_an_append_that_never_arrived_is_not_sent_again(
    through: Client, proxy: RespProxy, store: StoreUnderTest, name: str
) -> None:
    loss = proxy.lose_request("^EVALSHA")
    with pytest.raises(DurableStreamUnavailableError):
        through.topic(name).append(b"lost")
    assert loss.happened.is_set()
    through.topic(name).append(b"x")
    assert store.contents(name) == [b"x"]


def test_a_seal_whose_reply_is_lost_may_be_repeated(
    through: Client, proxy: RespProxy, store: StoreUnderTest, name: str
) -> None:
    topic = through.topic(name)
    topic.append(b"x")
    through.topic("warm-seal").seal()
    proxy.lose_reply("^EVALSHA")
    with pytest.raises(DurableStreamUnavailableError) as caught:
        topic.seal(error="first")
    assert caught.value.maybe_stored is True
    topic.seal(error="second")
    with topic.subscribe_from_beginning() as subscription:
        assert drain(subscription) == [b"x"]
    assert subscription.end is not None
    assert subscription.end.error == "first"


def test_a_read_whose_reply_is_lost_is_made_again(
    through: Client, proxy: RespProxy, store: StoreUnderTest, name: str
) -> None:
    with through.topic(name).subscribe_from_tail() as subscription:
        loss = proxy.lose_reply("^XRANGE")
        store.grow(name, numbered(20))
        assert payloads(take(subscription, 20)) == numbered(20)
    assert loss.happened.is_set()
