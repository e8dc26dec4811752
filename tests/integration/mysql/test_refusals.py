"""A server that can not, or does not want to: told in our words, by our classes, with nothing half-written."""

import threading
from contextlib import closing

import pytest
from tests.integration.mysql.stores import contents, opened, stored
from tests.mysql_server import mariadb_server

from tailrace import spi
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.testing.servers.mariadb import MariadbServer


def refusal(store: spi.Backend, topic: str, *payloads: bytes, timeout: float = 10.0) -> DurableStreamUnavailableError:
    """Append what is refused; return with which error."""
    (outcome,) = store.append([spi.Entry(topic, payloads)], timeout)
    assert isinstance(outcome, spi.AppendRefused), outcome
    return outcome.error


def test_the_right_that_is_missing_is_named(server: MariadbServer, database: str) -> None:
    user = server.create_user(f"n{database}")
    with opened(server.url(database)):
        pass
    server.execute(f"GRANT SELECT ON {database}.* TO '{user}'@'127.0.0.1'")
    server.execute(f"GRANT UPDATE, INSERT ON {database}.tailrace_topics TO '{user}'@'127.0.0.1'")
    with opened(server.url(database, user=user, password=""), create=False) as store:
        error = refusal(store, "t", b"x")
        assert isinstance(error, StoreUnusableError)
        assert "INSERT" in str(error)
        assert "tailrace_records" in str(error)
        assert isinstance(store.bounds("t"), spi.Unborn)


def test_a_statement_timeout_of_the_server_is_told_and_nothing_is_stored(server: MariadbServer, database: str) -> None:
    user = server.create_user(f"s{database}")
    # Of that user, so that nobody else is cut.
    server.execute(f"GRANT ALL ON {database}.* TO '{user}'@'127.0.0.1' WITH MAX_STATEMENT_TIME 0.3")
    with opened(server.url(database, user=user, password="")) as store:
        stored(store, "t", b"a")
        with closing(server.connect(database)) as other, other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT 1 FROM tailrace_topics FOR UPDATE")
            error = refusal(store, "t", b"b")
            cursor.execute("ROLLBACK")
        assert not isinstance(error, StoreUnusableError)
        assert "max_statement_time" in str(error)
        assert contents(store, "t") == [b"a"]
        stored(store, "t", b"c")
        assert contents(store, "t") == [b"a", b"c"]


def test_no_connection_left_is_told_and_may_be_ridden_out(server: MariadbServer, database: str) -> None:
    user = server.create_user(f"c{database}")
    with opened(server.url(database)):
        pass
    server.execute(f"GRANT ALL ON {database}.* TO '{user}'@'127.0.0.1' WITH MAX_USER_CONNECTIONS 1")
    with opened(server.url(database, user=user, password=""), create=False) as first:
        # The one connection is kept for the next call.
        stored(first, "t", b"a")
        with pytest.raises(DurableStreamUnavailableError, match="no connections left") as caught:
            opened(server.url(database, user=user, password=""), create=False)
        assert not isinstance(caught.value, StoreUnusableError)
        stored(first, "t", b"b")
        assert contents(first, "t") == [b"a", b"b"]


@pytest.mark.parametrize(
    "options",
    ["CHARACTER SET latin1 COLLATE latin1_general_ci", "CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"],
)
def test_names_and_reasons_do_not_depend_on_the_collation_of_the_database(server: MariadbServer, options: str) -> None:
    database = server.create_database(options=options)
    # All of these are equal, or can not be said, there.
    names = ["a", "A", "ä", "a ", "\U0001f3de", "Ω"]
    with opened(server.url(database)) as store:
        for name in names:
            stored(store, name, name.encode(), b"\xff\x00")
            store.seal(name, "grund: \U0001f3de")
        assert [info.name for info in store.topics()] == sorted(names, key=str.encode)
        for name in names:
            assert contents(store, name) == [name.encode(), b"\xff\x00"]
            bounds = store.bounds(name)
            assert isinstance(bounds, spi.Bounds)
            assert bounds.seal == spi.Seal("grund: \U0001f3de")
    server.drop_database(database)


def test_transactions_that_the_server_begins_by_itself_hold_nothing_open() -> None:
    settings = {"autocommit": "OFF", "completion_type": "CHAIN", "transaction_isolation": "SERIALIZABLE"}
    with mariadb_server(**settings) as server:
        database = server.create_database()
        with opened(server.url(database)) as store, opened(server.url(database)) as other:
            done = [
                threading.Thread(target=lambda s=each: [stored(s, "t", b"x") for _ in range(10)])  # type: ignore[misc]
                for each in (store, other)
            ]
            for thread in done:
                thread.start()
            for thread in done:
                thread.join()
            assert contents(other, "t") == [b"x"] * 20
            # What reads leaves no transaction behind either, in which it would see the past.
            stored(store, "t", b"y")
            assert contents(other, "t") == [b"x"] * 20 + [b"y"]
            rows = server.execute("SELECT count(*) FROM information_schema.innodb_trx")
            assert rows == [(0,)]
