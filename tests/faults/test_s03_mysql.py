"""S03 on MySQL's wire: the server performs a statement and its reply is lost, or the statement never arrives."""

from collections.abc import Iterator

import pytest
from tests.integration.mysql.stores import contents, opened, stored
from tests.mysql_server import mariadb_server

from tailrace import spi
from tailrace.backends.mysql import MysqlStore
from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.faults import FlakyProxy
from tailrace.testing.servers.mariadb import MariadbServer


@pytest.fixture(scope="module")
def server() -> Iterator[MariadbServer]:
    with mariadb_server() as server:
        yield server


@pytest.fixture
def proxy(server: MariadbServer) -> Iterator[FlakyProxy]:
    with FlakyProxy(server.address) as proxy:
        yield proxy


@pytest.fixture
def store(server: MariadbServer, proxy: FlakyProxy) -> Iterator[MysqlStore]:
    """A store behind the proxy, with a topic and a connection."""
    database = server.create_database()
    url = server.url(database, ssl_mode="disabled").replace(f":{server.port}/", f":{proxy.port}/")
    with opened(url, append_timeout=2.0) as store:
        stored(store, "t", b"before")
        yield store
    server.drop_database(database)


def append(store: MysqlStore, topic: str, *payloads: bytes) -> spi.AppendOutcome:
    (outcome,) = store.append([spi.Entry(topic, payloads)], 2.0)
    return outcome


def test_an_append_whose_commit_is_not_answered_is_unknown_and_stored_once(
    store: MysqlStore, proxy: FlakyProxy
) -> None:
    proxy.drop_reply(lambda sent: b"COMMIT" in sent)
    assert isinstance(append(store, "t", b"x"), spi.AppendUnknown)
    assert contents(store, "t") == [b"before", b"x"]
    stored(store, "t", b"y")
    assert contents(store, "t") == [b"before", b"x", b"y"]


def test_an_append_whose_lock_is_not_answered_is_sent_again_and_stored_once(
    store: MysqlStore, proxy: FlakyProxy
) -> None:
    proxy.drop_reply(lambda sent: b"FOR UPDATE" in sent)
    assert isinstance(append(store, "t", b"x"), spi.Appended)
    assert contents(store, "t") == [b"before", b"x"]


def test_connections_that_were_cut_while_idle_are_noticed_before_anything_is_sent(
    store: MysqlStore, proxy: FlakyProxy
) -> None:
    assert proxy.cut()
    assert isinstance(append(store, "t", b"x"), spi.Appended)
    assert contents(store, "t") == [b"before", b"x"]


def test_a_seal_whose_reply_is_lost_may_be_repeated(store: MysqlStore, proxy: FlakyProxy) -> None:
    proxy.drop_reply(lambda sent: b"COMMIT" in sent)
    with pytest.raises(DurableStreamUnavailableError) as caught:
        store.seal("t", "first")
    assert caught.value.maybe_stored is True
    store.seal("t", "second")
    bounds = store.bounds("t")
    assert isinstance(bounds, spi.Bounds)
    assert bounds.seal == spi.Seal("first")


def test_a_server_that_hangs_ends_each_call_in_its_time(server: MariadbServer, store: MysqlStore) -> None:
    server.freeze()
    try:
        refused = append(store, "t", b"x")
        assert isinstance(refused, spi.AppendRefused)
        with pytest.raises(DurableStreamUnavailableError, match="did not answer in time"):
            store.bounds("t")
    finally:
        server.thaw()
    stored(store, "t", b"y")
    assert contents(store, "t") == [b"before", b"y"]


def test_a_restart_of_the_server_is_felt_by_nobody(server: MariadbServer, store: MysqlStore) -> None:
    server.restart()
    stored(store, "t", b"x")
    assert contents(store, "t") == [b"before", b"x"]
