"""What is wrong on the server is told in our words, by our classes, and nothing is half-written."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from tailrace import DurableStreamUnavailableError, StoreUnusableError, TopicSealedError, spi
from tailrace.options import StoreOptions, parse_url
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.testing.servers.waiting import until


class Database:
    """A database of its own with the store's tables, and an operator's hands on it."""

    def __init__(self, server: PostgresServer, *, options: str = "") -> None:
        self.server = server
        self.name = server.create_database(options=options)
        self._opened: list[Any] = []

    def open(self, user: str = "postgres", **options: Any) -> Any:
        """Open the store as some user."""
        store = spi.open_store(parse_url(self.server.url(self.name, user)), StoreOptions(**options))
        self._opened.append(store)
        return store

    def execute(self, statement: str) -> list[Any]:
        """Perform a statement as the superuser."""
        return self.server.execute(statement, database=self.name)

    def connect(self) -> "psycopg.Connection[Any]":
        """Open a connection of an operator."""
        return self.server.connect(self.name)

    def close(self) -> None:
        """Close what was opened, and remove it."""
        for store in self._opened:
            store.close()
        self.server.drop_database(self.name)


@pytest.fixture
def role(server: PostgresServer) -> Iterator[Callable[..., str]]:
    """Create roles that are gone after the test: later than the database where something was granted to them."""
    made: list[str] = []

    def create(options: str = "", settings: str = "") -> str:
        name = server.create_role(f"role{len(made)}_{time.monotonic_ns()}", options=options)
        if settings:
            server.execute(f"ALTER ROLE {name} SET {settings}")
        made.append(name)
        return name

    yield create
    for name in made:
        server.execute(f"DROP ROLE {name}")


@pytest.fixture
def database(server: PostgresServer, role: Callable[..., str]) -> Iterator[Database]:
    database = Database(server)
    database.open(create=True)
    yield database
    database.close()


def grant(database: Database, role: str, tables: str) -> None:
    database.execute(f"GRANT USAGE ON SCHEMA tailrace TO {role}")
    database.execute(f"GRANT {tables} ON ALL TABLES IN SCHEMA tailrace TO {role}")


def append(store: Any, topic: str, *payloads: bytes, wait: bool = True, timeout: float = 5.0) -> Any:
    (outcome,) = store.append([spi.Entry(topic, payloads or (b"x",), wait)], timeout)
    return outcome


def refused(outcome: object) -> DurableStreamUnavailableError:
    assert isinstance(outcome, spi.AppendRefused), outcome
    return outcome.error


def stored(store: Any, topic: str) -> list[bytes]:
    bounds = store.bounds(topic)
    if isinstance(bounds, spi.Unborn):
        return []
    (page,) = store.read([spi.ReadRequest(topic, bounds.beginning, 1000, 2**20)])
    assert isinstance(page, spi.Page), page
    return [payload for _, _, payload in page.records]


def test_a_database_without_tables_is_refused_and_left_as_it_was(server: PostgresServer) -> None:
    database = Database(server)
    with closing(database):
        with pytest.raises(StoreUnusableError, match="create=True"):
            database.open(create=False)
        assert database.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'tailrace'") == []


def test_tables_of_a_newer_release_are_refused(database: Database) -> None:
    database.execute("INSERT INTO tailrace.version VALUES (99)")
    for create in (False, True):
        with pytest.raises(StoreUnusableError, match="newer release"):
            database.open(create=create)


def test_whoever_may_only_read_reads_and_is_told_which_rights_are_missing(
    database: Database, role: Callable[..., str]
) -> None:
    writer = database.open()
    append(writer, "t", b"a")
    reader = role()
    grant(database, reader, "SELECT")
    store = database.open(reader, create=False)

    assert stored(store, "t") == [b"a"]
    with closing(store.watch()) as watch:
        watch.follow(["t"], ())
    for topic in ("t", "new"):
        error = refused(append(store, topic))
        assert isinstance(error, StoreUnusableError)
        assert "permission denied for table" in str(error)
        assert "INSERT" in str(error)
    with pytest.raises(StoreUnusableError, match="permission denied"):
        store.seal("t", None)
    with pytest.raises(StoreUnusableError, match="permission denied"):
        store.delete("t")
    assert stored(writer, "t") == [b"a"]
    assert isinstance(writer.bounds("new"), spi.Unborn)


def test_whoever_may_not_enter_the_schema_is_told(database: Database, role: Callable[..., str]) -> None:
    with pytest.raises(StoreUnusableError, match="USAGE"):
        database.open(role(), create=False)


def test_a_session_that_may_only_read_refuses_appends_and_may_be_ridden_out(
    database: Database, role: Callable[..., str]
) -> None:
    name = role(settings="default_transaction_read_only = on")
    grant(database, name, "SELECT, INSERT, UPDATE, DELETE")
    store = database.open(name, create=False)

    error = refused(append(store, "t"))

    assert not isinstance(error, StoreUnusableError)
    assert "primary" in str(error)
    assert stored(store, "t") == []


def test_a_full_disk_stores_nothing_of_what_was_refused(database: Database) -> None:
    store = database.open()
    append(store, "t", b"a")
    before = store.bounds("t")
    fail_inserts(database, "53100", "could not extend file: No space left on device")

    for topic in ("t", "new"):
        error = refused(append(store, topic, b"b"))
        assert isinstance(error, StoreUnusableError)
        assert "no space left" in str(error)
    assert store.bounds("t") == before
    assert isinstance(store.bounds("new"), spi.Unborn)

    database.execute("DROP TRIGGER fails ON tailrace.records")
    append(store, "t", b"c")
    assert stored(store, "t") == [b"a", b"c"]


@pytest.mark.parametrize("code", ["40001", "40P01"])
def test_what_was_refused_for_its_order_is_sent_again_and_stored_once(database: Database, code: str) -> None:
    store = database.open()
    append(store, "t", b"a")
    # A sequence remembers across a transaction that is rolled back.
    database.execute("CREATE SEQUENCE public.tried")
    fail_inserts(database, code, "not now", "nextval('public.tried') <= 2")

    assert isinstance(append(store, "t", b"b"), spi.Appended)

    assert stored(store, "t") == [b"a", b"b"]


def fail_inserts(database: Database, code: str, message: str, condition: str = "true") -> None:
    database.execute(
        "CREATE OR REPLACE FUNCTION public.fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF {condition} THEN RAISE EXCEPTION '{message}' USING ERRCODE = '{code}'; END IF; RETURN NEW; END $$"
    )
    database.execute(
        "CREATE TRIGGER fails BEFORE INSERT ON tailrace.records FOR EACH ROW EXECUTE FUNCTION public.fails()"
    )


def test_a_statement_timeout_is_told_and_nothing_is_stored(database: Database, role: Callable[..., str]) -> None:
    name = role(settings="statement_timeout = 200")
    grant(database, name, "SELECT, INSERT, UPDATE, DELETE")
    store = database.open(name, create=False)
    append(store, "t", b"a")
    with database.connect() as other, other.transaction():
        other.execute("SELECT 1 FROM tailrace.topics FOR UPDATE")
        error = refused(append(store, "t", b"b"))
    assert "statement_timeout" in str(error)
    assert stored(store, "t") == [b"a"]


def test_a_topic_that_is_locked_elsewhere_is_deferred_and_keeps_nobody_up(database: Database) -> None:
    store = database.open()
    append(store, "locked", b"a")
    with database.connect() as other, other.transaction():
        other.execute("SELECT 1 FROM tailrace.topics FOR UPDATE")
        entries = [spi.Entry(name, [b"b"], False) for name in ("locked", "free", "locked")]
        outcomes = store.append(entries, 5.0)
        assert [type(outcome) for outcome in outcomes] == [spi.AppendDeferred, spi.Appended, spi.AppendDeferred]
        assert isinstance(append(store, "locked", wait=False), spi.AppendDeferred)
        began = time.monotonic()
        error = refused(append(store, "locked", b"c", timeout=0.5))
        assert 0.3 < time.monotonic() - began < 3
        assert not isinstance(error, StoreUnusableError)
    assert stored(store, "locked") == [b"a"]
    assert stored(store, "free") == [b"b"]


def test_an_append_that_may_wait_goes_on_when_the_lock_is_released(database: Database) -> None:
    store = database.open()
    append(store, "t", b"a")
    outcomes: list[object] = []
    with database.connect() as other:
        with other.transaction():
            other.execute("SELECT 1 FROM tailrace.topics FOR UPDATE")
            waiting = threading.Thread(target=lambda: outcomes.append(append(store, "t", b"b", timeout=60.0)))
            waiting.start()
            until_somebody_waits(database)
        waiting.join()
    assert isinstance(outcomes[0], spi.Appended)
    assert stored(store, "t") == [b"a", b"b"]


def test_while_somebody_has_a_table_for_himself_nothing_is_left_that_waits_and_nothing_comes_about_later(
    database: Database,
) -> None:
    store = database.open(create=True, append_timeout=1.0)
    append(store, "t", b"x")
    with database.connect() as operator, operator.transaction():
        # As VACUUM FULL does, and most of what ALTER TABLE can be asked for.
        operator.execute("LOCK TABLE tailrace.topics IN ACCESS EXCLUSIVE MODE")
        for entry in (spi.Entry("t", [b"y"]), spi.Entry("t", [b"y"], may_wait=False)):
            (outcome,) = store.append([entry], 1.0)
            assert isinstance(outcome, spi.AppendRefused), outcome
        with pytest.raises(DurableStreamUnavailableError):
            store.bounds("t")
        waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        assert operator.execute(waiting.encode()).fetchall() == []
    assert stored(store, "t") == [b"x"]


def test_a_transaction_that_was_forgotten_with_a_topic_in_its_hands_is_found(database: Database) -> None:
    store = database.open(create=True)
    append(store, "t", b"x")
    with database.connect() as forgotten, forgotten.transaction():
        store.append_in(forgotten, spi.Entry("t", [b"y"]))
        # It looks at nothing just now, and holds no snapshot.
        assert "oldest transaction" in store.examine().facts


def test_a_connection_that_is_ended_during_an_append_leaves_it_unknown(database: Database) -> None:
    store = database.open()
    append(store, "t", b"a")
    outcomes: list[object] = []
    with database.connect() as other:
        with other.transaction():
            other.execute("SELECT 1 FROM tailrace.topics FOR UPDATE")
            waiting = threading.Thread(target=lambda: outcomes.append(append(store, "t", b"b", timeout=60.0)))
            waiting.start()
            until_somebody_waits(database)
            database.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            waiting.join()
    assert isinstance(outcomes[0], spi.AppendUnknown), outcomes
    assert isinstance(append(store, "t", b"c"), spi.Appended)
    assert stored(store, "t") == [b"a", b"c"]


def until_somebody_waits(database: Database) -> None:
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    until(lambda: bool(database.execute(waiting)), "somebody waits for a lock")


def test_a_server_that_hangs_is_left_at_the_timeout_and_the_append_is_unknown(
    server: PostgresServer, database: Database
) -> None:
    store = database.open()
    append(store, "t", b"a")
    server.freeze()
    try:
        began = time.monotonic()
        outcome = append(store, "t", b"b", timeout=0.5)
        took = time.monotonic() - began
    finally:
        server.thaw()
    assert isinstance(outcome, spi.AppendUnknown)
    assert took < 3
    assert isinstance(append(store, "t", b"c"), spi.Appended)
    assert stored(store, "t") in ([b"a", b"c"], [b"a", b"b", b"c"])


def test_no_connection_left_is_told_and_may_be_ridden_out(database: Database, role: Callable[..., str]) -> None:
    name = role(options="CONNECTION LIMIT 1")
    grant(database, name, "SELECT")
    with psycopg.connect(database.server.url(database.name, name)):
        with pytest.raises(DurableStreamUnavailableError, match="connection") as caught:
            database.open(name, create=False)
    assert not isinstance(caught.value, StoreUnusableError)


@pytest.mark.parametrize(
    ("user", "place", "words"),
    [("nobody_of_that_name", None, "user"), ("postgres", "no_such_database", "no such database")],
    ids=["user", "database"],
)
def test_what_does_not_exist_is_named(
    server: PostgresServer, database: Database, user: str, place: str | None, words: str
) -> None:
    with pytest.raises(StoreUnusableError, match=words):
        spi.open_store(parse_url(server.url(place or database.name, user)), StoreOptions())


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "UTF8"])
def test_names_and_reasons_do_not_depend_on_the_encoding_of_the_database(server: PostgresServer, encoding: str) -> None:
    database = Database(server, options=f"TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'")
    with closing(database):
        store = database.open(create=True)
        names = ["Ω", "\x01", "a%b", "\U0001f3de", "ω" * 200]
        for name in names:
            append(store, name, b"\xff\x00")
            store.seal(name, "grund: \U0001f3de")
        assert [info.name for info in store.topics()] == sorted(names, key=str.encode)
        for name in names:
            assert stored(store, name) == [b"\xff\x00"]
            assert store.bounds(name).seal == spi.Seal("grund: \U0001f3de")
            assert isinstance(refused(append(store, name)), TopicSealedError)


@pytest.mark.parametrize("isolation", ["serializable", "repeatable read"])
def test_it_does_not_matter_which_isolation_is_the_default(
    database: Database, role: Callable[..., str], isolation: str
) -> None:
    name = role(settings=f"default_transaction_isolation = '{isolation}'")
    grant(database, name, "SELECT, INSERT, UPDATE, DELETE")
    stores = [database.open(name, create=False) for _ in range(2)]
    outcomes: list[object] = []

    def write(store: object) -> None:
        outcomes.extend(append(store, "t", b"x", timeout=20.0) for _ in range(25))

    threads = [threading.Thread(target=write, args=(store,)) for store in stores for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {type(outcome) for outcome in outcomes} == {spi.Appended}
    assert len(stored(stores[0], "t")) == 100


def test_records_that_somebody_removed_are_damage_and_not_a_gap(database: Database) -> None:
    store = database.open()
    append(store, "t", b"a", b"b", b"c")
    append(store, "whole", b"x")
    database.execute("DELETE FROM tailrace.records WHERE payload = 'b'")
    beginnings = [store.bounds(name).beginning for name in ("t", "whole")]

    outcomes = store.read(
        [spi.ReadRequest(name, place, 10, 1000) for name, place in zip(("t", "whole"), beginnings, strict=True)]
    )

    assert isinstance(outcomes[0], spi.ReadFailed)
    assert isinstance(outcomes[0].error, StoreUnusableError)
    assert isinstance(outcomes[1], spi.Page)


def test_tables_that_are_dropped_under_its_feet_are_told(database: Database) -> None:
    store = database.open()
    append(store, "t")
    database.execute("DROP SCHEMA tailrace CASCADE")
    assert isinstance(refused(append(store, "t")), StoreUnusableError)
    with pytest.raises(StoreUnusableError, match="no tables"):
        store.bounds("t")
