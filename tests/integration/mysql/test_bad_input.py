"""What can be wrong with a server, a database, its rights or a URL is told in a sentence; nothing is half-written."""

from contextlib import closing

import pytest
from tests.integration.mysql.stores import contents, opened, stored
from tests.mysql_server import mariadb_server

from tailrace import spi
from tailrace.backends.mysql import schema
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError, StoreUnusableError
from tailrace.testing.servers.mariadb import MariadbServer

APPENDER = "SELECT, INSERT, UPDATE, DELETE"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("localhost", "needs a database"),
        ("localhost/", "needs a database"),
        ("localhost/x?nonsense=1", "no setting called nonsense"),
        ("localhost/x?prefix=a-b", "table prefix"),
        ("localhost/x?driver=odbc", "driver must be"),
        ("localhost/x?ssl_mode=maybe", "ssl_mode must be"),
        ("localhost/x?poll_min=1&poll_max=0.5", "poll_min"),
        ("localhost/x?poll_min=soon", "must be a number"),
        ("localhost/x?pool_size=0", "pool_size"),
        ("localhost:99999/x", "needs a URL like"),
    ],
)
def test_a_url_that_can_not_be_used_is_refused_before_anything_is_sent(place: str, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        opened(f"mysql://{place}")


def test_a_database_without_tables_is_refused_and_stays_so_unless_they_may_be_made(
    server: MariadbServer, database: str
) -> None:
    for _ in range(2):
        with pytest.raises(StoreUnusableError, match="tailrace migrate"):
            opened(server.url(database), create=False)
    assert server.execute("SHOW TABLES", database=database) == []
    with opened(server.url(database)):
        pass
    with opened(server.url(database), create=False) as store:
        stored(store, "t", b"x")


def test_tables_of_another_release_are_refused_in_a_sentence(server: MariadbServer, database: str) -> None:
    with opened(server.url(database)):
        pass
    for found, said in ((schema.newest() + 1, "upgrade tailrace"), (0, "tailrace migrate")):
        server.execute("UPDATE tailrace_version SET version = %s", [found], database=database)
        with pytest.raises(StoreUnusableError, match=said):
            opened(server.url(database), create=False)


def test_a_migration_that_ended_halfway_is_finished_by_the_next(server: MariadbServer, database: str) -> None:
    with opened(server.url(database)) as store:
        stored(store, "t", b"x")
    server.execute("DROP TABLE tailrace_graves", database=database)
    server.execute("DELETE FROM tailrace_version", database=database)
    with opened(server.url(database)) as store:
        assert contents(store, "t") == [b"x"]
        assert store.delete("t")


def test_two_prefixes_in_one_database_are_two_stores(server: MariadbServer, database: str) -> None:
    with opened(server.url(database, prefix="a_")) as first, opened(server.url(database, prefix="b_")) as second:
        stored(first, "t", b"first")
        stored(second, "t", b"second")
        assert contents(first, "t") == [b"first"]


def test_who_is_not_let_in_is_told_so(server: MariadbServer, database: str) -> None:
    server.create_user(f"u{database}", "right")
    with pytest.raises(StoreUnusableError, match="password"):
        opened(server.url(database, user=f"u{database}", password="wrong"))
    with pytest.raises(StoreUnusableError, match="rights"):
        opened(server.url(database, user=f"u{database}", password="right"))
    with pytest.raises(StoreUnusableError, match="does not exist"):
        opened(server.url("nowhere"))


def test_a_server_that_is_not_there_is_away() -> None:
    with pytest.raises(DurableStreamUnavailableError) as caught:
        opened("mysql://root@127.0.0.1:1/x")
    assert not isinstance(caught.value, StoreUnusableError)


def test_a_reader_needs_no_right_but_to_read(server: MariadbServer, database: str) -> None:
    user = server.create_user(f"r{database}")
    with opened(server.url(database)) as store:
        stored(store, "t", b"x")
    server.execute(f"GRANT SELECT ON {database}.* TO '{user}'@'127.0.0.1'")
    with opened(server.url(database, user=user, password=""), create=False) as reader:
        assert contents(reader, "t") == [b"x"]
        assert isinstance(reader.bounds("other"), spi.Unborn)
        with closing(reader.watch()) as watch:
            watch.follow(["t"], [])
        reader.examine()
        (outcome,) = reader.append([spi.Entry("t", [b"y"])], 10.0)
        assert isinstance(outcome, spi.AppendRefused)
        assert isinstance(outcome.error, StoreUnusableError)
        assert "rights" in str(outcome.error)
        with pytest.raises(StoreUnusableError, match="rights"):
            reader.seal("t", None)


def test_whoever_appends_trims_and_sweeps_needs_no_right_on_the_schema(server: MariadbServer, database: str) -> None:
    user = server.create_user(f"a{database}")
    with opened(server.url(database)):
        pass
    server.execute(f"GRANT {APPENDER} ON {database}.* TO '{user}'@'127.0.0.1'")
    with opened(server.url(database, user=user, password=""), create=False) as store:
        stored(store, "t", b"x", b"y")
        store.seal("t", "over")
        assert store.delete("t")
        store.sweep(spi.SweepBudget())


def test_a_server_that_was_made_read_only_refuses_and_goes_on_afterwards(server: MariadbServer, database: str) -> None:
    user = server.create_user(f"w{database}")
    server.execute(f"GRANT ALL ON {database}.* TO '{user}'@'127.0.0.1'")
    with opened(server.url(database, user=user, password="")) as store:
        stored(store, "t", b"x")
        server.execute("SET GLOBAL read_only = ON")
        try:
            (outcome,) = store.append([spi.Entry("t", [b"y"])], 10.0)
            assert isinstance(outcome, spi.AppendRefused)
            assert "read-only" in str(outcome.error)
            assert any("read-only" in warning for warning in store.examine().warnings)
        finally:
            server.execute("SET GLOBAL read_only = OFF")
        stored(store, "t", b"z")
        assert contents(store, "t") == [b"x", b"z"]


@pytest.mark.parametrize("byte", [b"'", b"\\", b"\0", b"x"])
def test_the_largest_payload_is_stored_whatever_its_bytes_are(byte: bytes) -> None:
    with mariadb_server(max_allowed_packet=str(2**20)) as server:
        database = server.create_database()
        with opened(server.url(database)) as store:
            largest = store.capabilities.max_payload
            assert 2**20 - 2**17 < largest < 2**20
            payload = byte * largest
            stored(store, "t", b"before", payload, b"between", payload, b"after")
            stored(store, "t", payload)
            assert contents(store, "t") == [b"before", payload, b"between", payload, b"after", payload]
            with closing(server.connect(database)) as connection, connection.cursor() as cursor:
                connection.begin()
                store.append_in(connection, spi.Entry("t", [payload]))
                # It comes in parts, and none stays behind in the session.
                cursor.execute("SELECT @tailrace_0, @tailrace_1")
                assert cursor.fetchall() == ((None, None),)
            assert any("max_allowed_packet" in warning for warning in store.examine().warnings)


def test_a_page_is_full_although_there_was_a_large_record_once(server: MariadbServer, database: str) -> None:
    with opened(server.url(database)) as store:
        stored(store, "t", b"l" * 2**20)
        stored(store, "t", *(b"%d" % n for n in range(300)))
        bounds = store.bounds("t")
        assert isinstance(bounds, spi.Bounds)
        first = spi.Boundary(bounds.tail.incarnation, 1, _tag(store, "t", 1))
        (page,) = store.read([spi.ReadRequest("t", first, 200, 2**18)])
        assert isinstance(page, spi.Page)
        assert [payload for _, _, payload in page.records] == [b"%d" % n for n in range(200)]
        (small,) = store.read([spi.ReadRequest("t", bounds.beginning, 200, 100)])
        assert isinstance(small, spi.Page)
        assert len(small.records) == 1


def _tag(store: spi.Backend, topic: str, position: int) -> int:
    bounds = store.bounds(topic)
    assert isinstance(bounds, spi.Bounds)
    (page,) = store.read([spi.ReadRequest(topic, bounds.beginning, position, 2**30)])
    assert isinstance(page, spi.Page)
    return page.records[-1][1]


def test_records_that_somebody_removed_by_hand_are_told_and_not_passed_over(
    server: MariadbServer, database: str
) -> None:
    with opened(server.url(database)) as store:
        stored(store, "t", b"1", b"2", b"3", b"4")
        bounds = store.bounds("t")
        assert isinstance(bounds, spi.Bounds)
        server.execute("DELETE FROM tailrace_records WHERE position IN (1, 3)", database=database)
        (outcome,) = store.read([spi.ReadRequest("t", bounds.beginning, 10, 100)])
        assert isinstance(outcome, spi.ReadFailed)
        assert isinstance(outcome.error, StoreUnusableError)
