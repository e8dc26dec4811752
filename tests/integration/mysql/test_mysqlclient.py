"""The other driver, mysqlclient: it works where it can, and says where it can not."""

import subprocess
import sys
import time
from contextlib import closing

import pytest
import sqlalchemy
from tests.integration.mysql.stores import contents, opened, stored
from tests.mysqlclient import require_mysqlclient

import tailrace
from tailrace import DurableStreamUnavailableError, StoreUnusableError, spi
from tailrace.testing.reading import payloads, read_all, take
from tailrace.testing.servers.mariadb import MariadbServer


@pytest.fixture(autouse=True)
def driver() -> None:
    require_mysqlclient()


@pytest.fixture
def url(server: MariadbServer, database: str) -> str:
    return server.url(database, driver="mysqlclient")


def test_what_is_written_by_one_driver_is_read_by_the_other(server: MariadbServer, database: str, url: str) -> None:
    odd = [b"", b"'\\\0\xff", bytes(range(256)) * 300]
    with opened(url) as store, opened(server.url(database)) as other:
        stored(store, "\U0001f30a", *odd)
        assert contents(other, "\U0001f30a") == odd
        stored(other, "\U0001f30a", *odd)
        assert contents(store, "\U0001f30a") == odd * 2


def test_a_reader_at_the_tail_hears_of_others(server: MariadbServer, database: str, url: str) -> None:
    with closing(tailrace.connect(url, create=True)) as streams, streams.topic("t").subscribe_from_tail() as live:
        with closing(tailrace.connect(server.url(database))) as other:
            other.topic("t").append(b"x")
        assert payloads(take(live, 1)) == [b"x"]


def test_a_server_that_hangs_is_left_at_the_timeout_which_is_whole_seconds(server: MariadbServer, url: str) -> None:
    with closing(tailrace.connect(url, create=True, append_timeout=1.0)) as streams:
        streams.topic("t").append(b"a")
        server.freeze()
        try:
            began = time.monotonic()
            with pytest.raises(DurableStreamUnavailableError) as caught:
                streams.topic("t").append(b"b")
            took = time.monotonic() - began
        finally:
            server.thaw()
        assert took < 15
        assert caught.value.maybe_stored in (True, False)
        streams.topic("t").append(b"c")
        with streams.topic("t").subscribe_from_beginning() as subscription:
            assert payloads(take(subscription, 2))[0] == b"a"


def test_tls_is_spoken_and_a_stranger_is_not_believed() -> None:
    with MariadbServer(tls=True) as server, MariadbServer(tls=True) as stranger:
        database = server.create_database()
        with opened(server.url(database, driver="mysqlclient")) as store:
            stored(store, "t", b"x")
        assert stranger.certificates is not None
        wrong = server.url(database, driver="mysqlclient", ssl_ca=str(stranger.certificates.authority))
        with pytest.raises(DurableStreamUnavailableError):
            opened(wrong)


def test_its_connections_are_taken_by_append_in_and_its_engines_by_connect(
    server: MariadbServer, database: str, url: str
) -> None:
    engine = sqlalchemy.create_engine(f"mysql+mysqldb://root@127.0.0.1:{server.port}/{database}")
    with closing(tailrace.connect(engine, create=True)) as streams:
        assert "refused" in streams.capabilities.gevent
        with engine.begin() as connection:
            streams.topic("t").append_in(connection, [b"a"])
        raw = engine.raw_connection()
        streams.topic("t").append_in(raw.driver_connection, [b"b"])
        raw.rollback()
        raw.close()
        streams.topic("t").append(b"c")
        assert read_all(streams.topic("t").subscribe_from_beginning(), 2) == [b"a", b"c"]
    engine.dispose()


def test_the_connections_of_a_creator_are_used(server: MariadbServer, database: str) -> None:
    import MySQLdb  # type: ignore[import-untyped]

    def create() -> object:
        return MySQLdb.connect(host="127.0.0.1", port=server.port, user="root", database=database, charset="latin1")

    engine = sqlalchemy.create_engine("mysql+mysqldb://", creator=create)
    with closing(tailrace.connect(engine, create=True)) as streams:
        streams.topic("Ω").append(b"\xff'")
        assert read_all(streams.topic("Ω").subscribe_from_beginning(), 1) == [b"\xff'"]
    engine.dispose()


def test_it_is_refused_among_greenlets(url: str) -> None:
    program = (
        "import gevent.monkey; gevent.monkey.patch_all(); import sys, tailrace\n"
        "try: tailrace.connect(sys.argv[1], create=True)\n"
        "except tailrace.StoreUnusableError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, timeout=60, check=True)
    assert "driver=pymysql" in done.stdout


def test_one_that_is_too_old_is_refused_with_what_to_do(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("MySQLdb.version_info", (1, 4, 6, "final", 0))
    with pytest.raises(StoreUnusableError, match=r"2\.2 or newer"):
        opened(url)


def test_the_capabilities_say_what_it_can_not_do(url: str) -> None:
    with opened(url) as store:
        assert store.capabilities.gevent == "refused"
        assert isinstance(store.bounds("none"), spi.Unborn)
