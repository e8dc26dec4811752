"""Over TLS everything is as without it, and what does not fit is told by what to change."""

import secrets
import select
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import redis
from redis.sentinel import Sentinel
from tests.integration.redis.crowd import Crowd, Reader, until
from tests.integration.redis.steps import append, history, numbered
from tests.integration.redis.test_cluster import one_on_each

import tailrace
from tailrace import DurableStreamUnavailableError, StoreUnusableError, StreamClient, spi
from tailrace.backends.redis import RedisStore
from tailrace.backends.redis.location import from_client
from tailrace.backends.redis.wire import dial
from tailrace.options import EngineOptions, StoreOptions, parse_url
from tailrace.testing.servers.certificates import Certificates
from tailrace.testing.servers.redis import RedisCluster, RedisSentinel, RedisServer

# Hints that do not come are made up for so late that the test fails.
NO_FALLBACK = EngineOptions(poll_healthy=60.0, poll_unsure=60.0)

# Its successor is not there in older releases of the driver.
quiet_driver = pytest.mark.filterwarnings("ignore:.*lib_:DeprecationWarning")

Connect = Callable[[str], StreamClient]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer(tls=True) as server:
        yield server


@pytest.fixture(scope="module")
def strict() -> Iterator[RedisServer]:
    """A server that wants to know its clients."""
    with RedisServer(tls=True, settings={"tls-auth-clients": "yes"}) as server:
        yield server


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster(tls=True) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def sentinel() -> Iterator[RedisSentinel]:
    with RedisSentinel(tls=True) as sentinel:
        yield sentinel


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Certificates of an authority that nobody trusts here."""
    return Certificates.make(tmp_path_factory.mktemp("strangers"))


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connect clients with keys of the test's own; all are closed at the end."""
    prefix = f"t-{secrets.token_hex(4)}"
    with ExitStack() as stack:

        def client(url: str) -> StreamClient:
            store = spi.open_store(parse_url(f"{url}&prefix={prefix}"), StoreOptions())
            return stack.enter_context(StreamClient(store, options=NO_FALLBACK))

        yield client


@pytest.mark.parametrize("place", ["server", "strict", "cluster", "sentinel"])
def test_what_is_appended_is_heard_of_and_read(place: str, request: pytest.FixtureRequest, connect: Connect) -> None:
    url = request.getfixturevalue(place).url
    writers, readers = connect(url), connect(url)
    for number in range(4):
        with Crowd(writers, readers, f"t{number}", writers=1, readers=1) as crowd:
            crowd.until_read(20, 5.0)
            crowd.end()
        crowd.check(crowd.readers[0].found)


def test_hints_come_from_every_node(cluster: RedisCluster) -> None:
    prefix = f"t-{secrets.token_hex(4)}"
    store = spi.open_store(parse_url(f"{cluster.url}&prefix={prefix}"), StoreOptions())
    with closing(store), closing(store.watch()) as watch:
        topics = set(one_on_each(cluster, prefix).values())
        watch.follow(topics, ())
        heard: set[str] = set()
        for topic in topics:
            append(store, topic, b"x")
            heard |= watch.wait(5.0).topics
        assert heard == topics


def test_a_failover_between_servers_that_speak_tls(sentinel: RedisSentinel, connect: Connect) -> None:
    writers, readers = connect(sentinel.url), connect(sentinel.url)
    with Crowd(writers, readers, "t") as crowd:
        crowd.until_read(50)
        sentinel.failover()
        crowd.until_read(50)
        crowd.end()
    again = Reader(readers.topic("t"))
    again.end()
    crowd.check(again.found)


def test_pages_larger_than_what_tls_sends_at_once_arrive_whole(server: RedisServer) -> None:
    with closing(spi.open_store(parse_url(server.url), StoreOptions())) as store:
        large = [bytes([number]) * size for number, size in enumerate((2**20, 1, 2**14, 2**16 + 1, 3 * 2**20))]
        append(store, "large", *large)
        assert history(store, "large") == large


@quiet_driver
def test_what_is_only_for_the_layer_below_does_not_look_like_a_server_that_has_hung_up(server: RedisServer) -> None:
    client = redis.Redis.from_url(server.url, protocol=2, lib_name=None, lib_version=None)
    with closing(dial(from_client(client), 5.0)) as wire:
        # After the handshake the server sends tickets for later sessions.
        assert select.select([wire], [], [], 5.0)[0] == [wire]
        assert not wire.stale()
        wire.send(b"PING\r\n", time.monotonic() + 5.0)
        assert wire.receive(1, time.monotonic() + 5.0) == [b"PONG"]
        server.call("CLIENT", "KILL", "TYPE", "normal")
        until(wire.stale)
    client.close()


def test_a_connection_is_used_again(server: RedisServer) -> None:
    with closing(spi.open_store(parse_url(server.url), StoreOptions())) as store:
        append(store, "again", b"x")
        before = int(server.info("stats")["total_connections_received"])
        for payload in numbered(50):
            append(store, "again", payload)
        # The look at the statistics is one itself.
        assert int(server.info("stats")["total_connections_received"]) == before + 1


@quiet_driver
def test_a_watch_that_hears_nothing_but_tls_waits_on(server: RedisServer) -> None:
    # The driver has nothing to say on connecting, so what the server sends after the handshake arrives while we wait.
    client = redis.Redis.from_url(server.url, protocol=2, lib_name=None, lib_version=None)
    with closing(RedisStore(client)) as store, closing(store.watch()) as watch:
        assert watch.wait(0.3) == spi.Changes()
        watch.follow({"t"}, ())
        append(store, "t", b"x")
        assert watch.wait(5.0).topics == {"t"}
    client.close()


def test_clients_that_are_there_already_are_taken(
    server: RedisServer, cluster: RedisCluster, sentinel: RedisSentinel
) -> None:
    assert server.certificates is not None
    assert sentinel.servers[0].certificates is not None
    trust = {"ssl": True, "ssl_ca_certs": str(sentinel.servers[0].certificates.authority)}
    sentinels = Sentinel(
        [("127.0.0.1", node.port) for node in sentinel.sentinels], sentinel_kwargs=trust, socket_timeout=5, **trust
    )
    clients = [
        redis.Redis(port=server.port, host="127.0.0.1", ssl=True, ssl_ca_certs=str(server.certificates.authority)),
        redis.RedisCluster.from_url(cluster.nodes[0].url),
        sentinels.master_for(sentinel.name),
    ]
    for client in clients:
        with closing(RedisStore(client)) as store:
            append(store, "mine", b"x")
            assert history(store, "mine") == [b"x"]
            store.delete("mine")
        client.close()


@pytest.mark.parametrize("place", ["server", "cluster", "sentinel"])
def test_an_authority_that_is_not_the_servers_is_told(
    place: str, request: pytest.FixtureRequest, strangers: Certificates
) -> None:
    url = request.getfixturevalue(place).url.partition("?")[0]
    for trusted in ("", f"?ssl_ca_certs={strangers.authority}"):
        with pytest.raises(StoreUnusableError, match="not trusted: put the authority that signed it into ssl_ca_certs"):
            tailrace.connect(url + trusted)


def test_a_certificate_for_another_name_is_told(server: RedisServer, tmp_path: Path) -> None:
    elsewhere = server.url.replace("127.0.0.1", "[::ffff:127.0.0.1]") + "&ssl_check_hostname=true"
    with pytest.raises(StoreUnusableError, match="for another name"):
        tailrace.connect(elsewhere)


def test_a_client_that_shows_no_certificate_is_asked_whether_that_is_it(strict: RedisServer) -> None:
    assert strict.certificates is not None
    with pytest.raises(DurableStreamUnavailableError, match="ssl_certfile and ssl_keyfile"):
        tailrace.connect(f"rediss://127.0.0.1:{strict.port}/0?ssl_ca_certs={strict.certificates.authority}")


def test_a_client_whose_certificate_is_not_trusted_is_told(strict: RedisServer, strangers: Certificates) -> None:
    assert strict.certificates is not None
    trust = f"ssl_ca_certs={strict.certificates.authority}"
    ours = f"ssl_certfile={strangers.certificate}&ssl_keyfile={strangers.key}"
    with pytest.raises(DurableStreamUnavailableError, match="ssl_certfile and ssl_keyfile"):
        tailrace.connect(f"rediss://127.0.0.1:{strict.port}/0?{trust}&{ours}")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("ssl_ca_certs=/nowhere/ca.pem", "is not there"),
        ("ssl_ca_certs={authority}&ssl_certfile=/nowhere/a.pem&ssl_keyfile=/nowhere/a.key", "is not there"),
        ("ssl_ca_certs={key}", "no certificate"),
        ("ssl_ca_certs={authority}&ssl_certfile={certificate}&ssl_keyfile={key}", "not the key of"),
    ],
)
def test_files_that_can_not_be_used_are_told(
    server: RedisServer, strangers: Certificates, settings: str, said: str
) -> None:
    assert server.certificates is not None
    files = {
        "authority": server.certificates.authority,
        "certificate": server.certificates.certificate,
        "key": strangers.key,
    }
    with pytest.raises(StoreUnusableError, match=said):
        tailrace.connect(f"rediss://127.0.0.1:{server.port}/0?{settings.format(**files)}")


def test_whoever_does_not_speak_tls_to_a_server_that_does_is_asked(server: RedisServer) -> None:
    with pytest.raises(DurableStreamUnavailableError, match="rediss://") as caught:
        tailrace.connect(f"redis://127.0.0.1:{server.port}/0")
    assert not isinstance(caught.value, StoreUnusableError)


def test_whoever_speaks_tls_to_a_server_that_does_not_is_asked() -> None:
    with RedisServer() as plain, pytest.raises(DurableStreamUnavailableError, match="connect with redis://"):
        tailrace.connect(f"rediss://127.0.0.1:{plain.port}/0", append_timeout=0.5)
