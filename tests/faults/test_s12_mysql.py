"""S12 MySQL: pooled connections that were left in a transaction, and servers whose defaults are not the usual ones."""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.integration.mysql.stores import contents, opened, stored

import tailrace
from tailrace import spi
from tailrace.testing.servers.mariadb import MariadbServer

WRITERS = 16
SETTINGS = {
    "usual": {},
    "unusual": {
        "autocommit": "OFF",
        "transaction_isolation": "SERIALIZABLE",
        "sql_mode": "ANSI,NO_BACKSLASH_ESCAPES,TRADITIONAL",
        "character_set_server": "latin1",
        "default_time_zone": "+05:30",
        "innodb_lock_wait_timeout": "1",
    },
}


@pytest.fixture(scope="module", params=SETTINGS.values(), ids=SETTINGS)
def server(request: pytest.FixtureRequest) -> Iterator[MariadbServer]:
    with MariadbServer(settings=request.param) as server:
        yield server


@pytest.fixture
def database(server: MariadbServer) -> Iterator[str]:
    name = server.create_database()
    yield name
    server.drop_database(name)


def test_a_reader_sees_what_others_append_whatever_was_left_open(server: MariadbServer, database: str) -> None:
    with opened(server.url(database, pool_size="1")) as reader, opened(server.url(database)) as writer:
        stored(writer, "t", b"1")
        # The same connection for everything: what a call leaves open would be seen by the next.
        assert contents(reader, "t") == [b"1"]
        stored(reader, "other", b"x")
        reader.seal("other", None)
        (refused,) = reader.append([spi.Entry("other", [b"y"])], 10.0)
        assert isinstance(refused, spi.AppendRefused)
        stored(writer, "t", b"2")
        assert contents(reader, "t") == [b"1", b"2"]
    idle = "SELECT COUNT(*) FROM information_schema.innodb_trx"
    assert server.execute(idle) == [(0,)]


def test_a_live_reader_is_told_although_its_watch_has_looked_before(server: MariadbServer, database: str) -> None:
    with opened(server.url(database)):
        pass
    with tailrace.connect(server.url(database)) as reader, tailrace.connect(server.url(database)) as writer:
        with reader.topic("t").subscribe_from_tail() as subscription:
            assert subscription.receive(timeout=0.3) is None
            for payload in (b"1", b"2", b"3"):
                writer.topic("t").append(payload)
                record = subscription.receive(timeout=5.0)
                assert isinstance(record, tailrace.DurableStreamRecord)
                assert record.payload == payload


def test_sixteen_threads_begin_sixteen_topics_at_once(server: MariadbServer, database: str) -> None:
    outcomes: dict[int, spi.AppendOutcome] = {}
    barrier = threading.Barrier(WRITERS)

    def write(number: int, store: spi.Backend) -> None:
        barrier.wait(60)
        (outcomes[number],) = store.append([spi.Entry(f"run:{number}", [b"first"])], 10.0)

    with opened(server.url(database)) as store:
        threads = [threading.Thread(target=write, args=(number, store)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {type(outcome) for outcome in outcomes.values()} == {spi.Appended}
        assert len(store.topics()) == WRITERS


def test_sixteen_threads_begin_one_topic_at_once(server: MariadbServer, database: str) -> None:
    outcomes: list[spi.AppendOutcome] = []
    barrier = threading.Barrier(WRITERS)

    def write(store: spi.Backend) -> None:
        barrier.wait(60)
        outcomes.extend(store.append([spi.Entry("t", [b"x"])], 10.0))

    with opened(server.url(database)) as store:
        threads = [threading.Thread(target=write, args=(store,)) for _ in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [type(outcome) for outcome in outcomes] == [spi.Appended] * WRITERS
        assert len(contents(store, "t")) == WRITERS


def test_bytes_come_back_as_they_were(server: MariadbServer, database: str) -> None:
    payloads = [bytes(range(256)), b"it's \\' \"quoted\"\\", b"\xff\xfe\xc3", b""]
    with opened(server.url(database)) as store:
        stored(store, "ünï'\\code", *payloads)
        assert contents(store, "ünï'\\code") == payloads


def test_a_topic_that_is_locked_elsewhere_delays_no_other(server: MariadbServer, database: str) -> None:
    with opened(server.url(database)) as store:
        stored(store, "held", b"1")
        with closing(server.connect(database)) as outside, outside.cursor() as cursor:
            # As another process of ours does. Under REPEATABLE READ it would lock the gap before the name as well, and
            # keep new topics with a name just before it from being made.
            cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            cursor.execute("BEGIN")
            cursor.execute("SELECT id FROM tailrace_topics FORCE INDEX (by_name) WHERE name = 'held' FOR UPDATE")
            entries = [spi.Entry(topic, [b"2"], may_wait=False) for topic in ("a", "held", "z")]
            a, held, z = store.append(entries, 10.0)
            assert isinstance(a, spi.Appended)
            assert isinstance(z, spi.Appended)
            assert held == spi.AppendDeferred()
            patient = store.append([spi.Entry(topic, [b"3"]) for topic in ("a", "held")], 1.5)
            assert isinstance(patient[0], spi.Appended)
            assert isinstance(patient[1], spi.AppendRefused)
            cursor.execute("ROLLBACK")
        stored(store, "held", b"4")
        assert contents(store, "held") == [b"1", b"4"]


def test_a_topic_that_is_being_created_elsewhere_delays_no_other(server: MariadbServer, database: str) -> None:
    create = "INSERT INTO tailrace_topics (name, incarnation, last_at, changed_at) VALUES ('new', 7, 1, 1)"
    with opened(server.url(database)) as store:
        with closing(server.connect(database)) as outside, outside.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(create)
            entries = [spi.Entry(topic, [b"1"], may_wait=False) for topic in ("a", "new", "z")]
            stored(store, "a", b"0")
            a, new, z = store.append(entries, 10.0)
            assert isinstance(a, spi.Appended)
            assert new == spi.AppendDeferred()
            # New as well, and not to be told from the other without waiting for it: so it goes the same way.
            assert z == spi.AppendDeferred()
            cursor.execute("ROLLBACK")
        stored(store, "new", b"2")
        assert contents(store, "new") == [b"2"]
