"""S29c: every way in which the steps of a writer and of a reader can fall, in the right orders and in the wrong ones.

Nothing here waits for chance: the steps of both are taken one by one, in each order there is.
"""

import itertools
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from tests.docs.blocks import blocks

import tailrace
from tailrace.testing.servers.mariadb import MariadbServer
from tailrace.testing.servers.postgres import PostgresServer
from tailrace.testing.servers.redis import RedisServer

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "snapshot-and-subscribe.md"

RIGHT = ("checkpoint", "snapshot", "subscribe")
WRONG = ("snapshot", "checkpoint", "subscribe")
STATE_FIRST = ("state", "event")
EVENT_FIRST = ("event", "state")


def _page_names() -> dict[str, Any]:
    """Return ``View`` and ``watch`` as the page has them."""
    (block,) = [block.body for block in blocks(PAGE.read_text("utf-8")) if "class View" in block.body]
    names: dict[str, Any] = {"tailrace": tailrace, "json": json}
    exec(block, names)
    return names


NAMES = _page_names()


class Case:
    """One value with a version, a topic of its changes, one writer who changes it once, and one reader."""

    def __init__(self, topic: tailrace.Topic) -> None:
        self.topic = topic
        self.value: dict[str, Any] = {"id": 1, "status": "old", "version": 1}
        self._new = {"id": 1, "status": "new", "version": 2}
        self._subscription: tailrace.Subscription | None = None

    def take(self, step: str) -> None:
        getattr(self, step)()

    def state(self) -> None:
        self.value = self._new

    def event(self) -> None:
        self.topic.append(json.dumps(self._new).encode())

    def checkpoint(self) -> None:
        self._place = self.topic.checkpoint()

    def snapshot(self) -> None:
        self._view = NAMES["View"]({1: self.value})

    def subscribe(self) -> None:
        self._subscription = self.topic.subscribe_from_cursor(self._place)

    def shown(self) -> str:
        """Return what the reader shows when he has applied all that there is."""
        assert self._subscription is not None
        self.topic.seal()
        with self._subscription as subscription:
            while isinstance(record := subscription.receive(timeout=10), tailrace.DurableStreamRecord):
                self._view.apply(json.loads(record.payload))
            assert record is tailrace.CLOSED
        status: str = self._view.orders[1]["status"]
        return status


def merged(writer: tuple[str, ...], reader: tuple[str, ...]) -> list[list[str]]:
    """Return every order in which the steps of both can be taken."""
    count = len(writer) + len(reader)
    found = []
    for places in itertools.combinations(range(count), len(writer)):
        rest = iter(reader)
        writes = iter(writer)
        found.append([next(writes) if place in places else next(rest) for place in range(count)])
    return found


@pytest.fixture(scope="module", params=["memory", "sqlite", "redis"])
def streams(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tailrace.StreamClient]:
    with ExitStack() as stack:
        url = "memory://"
        if request.param == "sqlite":
            url = f"sqlite:///{tmp_path_factory.mktemp('snapshot')}/events.db"
        elif request.param == "redis":
            url = stack.enter_context(RedisServer()).url
        yield stack.enter_context(tailrace.connect(url))


def losing(streams: tailrace.StreamClient, writer: tuple[str, ...], reader: tuple[str, ...]) -> list[list[str]]:
    """Return the orders of steps after which the reader shows the old value for ever."""
    lost = []
    for steps in merged(writer, reader):
        case = Case(streams.topic(f"{'-'.join(steps)}"))
        for step in steps:
            case.take(step)
        if case.shown() != "new":
            lost.append(steps)
        streams.maintenance.delete(case.topic.name)
    return lost


def test_in_the_right_order_nothing_is_lost_wherever_the_steps_fall(streams: tailrace.StreamClient) -> None:
    assert len(merged(STATE_FIRST, RIGHT)) == 10
    assert losing(streams, STATE_FIRST, RIGHT) == []


def test_a_snapshot_before_the_checkpoint_loses_what_happens_between_them(streams: tailrace.StreamClient) -> None:
    assert losing(streams, STATE_FIRST, WRONG) == [["snapshot", "state", "event", "checkpoint", "subscribe"]]


def test_an_event_before_its_state_loses_too_although_the_reader_is_right(streams: tailrace.StreamClient) -> None:
    assert losing(streams, EVENT_FIRST, RIGHT) == [
        ["event", "checkpoint", "snapshot", "state", "subscribe"],
        ["event", "checkpoint", "snapshot", "subscribe", "state"],
    ]


class Database:
    """Rows of ours beside the tables of Tailrace. A writer changes a row and appends in one transaction."""

    def __init__(self, url: str, connect: Callable[[], Any]) -> None:
        self.connect = connect
        self.streams = tailrace.connect(url, create=True)
        self.run("CREATE TABLE orders (id bigint PRIMARY KEY, status varchar(20) NOT NULL, version bigint NOT NULL)")

    def run(self, statement: str) -> None:
        with closing(self.connect()) as connection:
            with closing(connection.cursor()) as cursor:
                cursor.execute(statement)
            connection.commit()

    def read(self, connection: Any) -> dict[int, dict[str, Any]]:
        with closing(connection.cursor()) as cursor:
            cursor.execute("SELECT id, status, version FROM orders")
            rows = cursor.fetchall()
        return {row[0]: {"id": row[0], "status": row[1], "version": row[2]} for row in rows}

    def snapshot(self) -> dict[int, dict[str, Any]]:
        with closing(self.connect()) as connection:
            return self.read(connection)


class InOne(Case):
    """With a writer whose steps are: write both, commit."""

    def __init__(self, database: Database, name: str) -> None:
        super().__init__(database.streams.topic(name))
        self._database = database
        database.run("DELETE FROM orders")
        database.run("INSERT INTO orders VALUES (1, 'old', 1)")

    def write(self) -> None:
        self._connection = self._database.connect()
        with closing(self._connection.cursor()) as cursor:
            cursor.execute("UPDATE orders SET status = 'new', version = 2 WHERE id = 1")
        self.topic.append_in(self._connection, [json.dumps(self._new).encode()])

    def commit(self) -> None:
        self._connection.commit()
        self._connection.close()

    def snapshot(self) -> None:
        self._view = NAMES["View"](self._database.snapshot())


@pytest.fixture(scope="module", params=["PostgreSQL", pytest.param("MariaDB", marks=pytest.mark.long)])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    if request.param == "PostgreSQL":
        with PostgresServer() as postgres:
            url = postgres.url(postgres.create_database())
            found = Database(url, lambda: psycopg.connect(url))
            yield found
            found.streams.close()
    else:
        with MariadbServer() as mariadb:
            name = mariadb.create_database()
            host, port = mariadb.address
            found = Database(
                mariadb.url(name), lambda: pymysql.connect(host=host, port=port, user="root", database=name)
            )
            yield found
            found.streams.close()


def test_with_one_transaction_nothing_is_lost_wherever_it_is_open_and_commits(database: Database) -> None:
    for steps in merged(("write", "commit"), RIGHT):
        case = InOne(database, "-".join(steps))
        for step in steps:
            case.take(step)
        assert case.shown() == "new", steps


def test_with_one_transaction_a_snapshot_before_the_checkpoint_loses_a_commit_between_them(database: Database) -> None:
    lost = []
    for steps in merged(("write", "commit"), WRONG):
        case = InOne(database, "-".join(("wrong", *steps)))
        for step in steps:
            case.take(step)
        if case.shown() != "new":
            lost.append(steps)
    assert lost == [
        ["write", "snapshot", "commit", "checkpoint", "subscribe"],
        ["snapshot", "write", "commit", "checkpoint", "subscribe"],
    ]


def test_a_transaction_that_began_before_the_checkpoint_reads_a_snapshot_from_before_it(database: Database) -> None:
    case = InOne(database, "older")
    with closing(database.connect()) as reader:
        if isinstance(reader, psycopg.Connection):
            # MariaDB does so unless it is told otherwise.
            reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        database.read(reader)
        case.write()
        case.commit()
        case.checkpoint()
        assert database.read(reader)[1]["status"] == "old"
        reader.rollback()
        assert database.read(reader)[1]["status"] == "new"


def test_pages_that_open_while_a_writer_never_rests_end_at_the_last_state(tmp_path: Path) -> None:
    """The page's own ``watch``, against a writer in a thread: it may be interrupted anywhere, and so may they."""

    def shop() -> "closing[sqlite3.Connection]":
        return closing(sqlite3.connect(tmp_path / "shop.db", isolation_level=None, timeout=30))

    def read() -> dict[int, dict[str, Any]]:
        with shop() as connection:
            rows = connection.execute("SELECT id, status, version FROM orders").fetchall()
        return {row[0]: {"id": row[0], "status": row[1], "version": row[2]} for row in rows}

    with shop() as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, version INTEGER)")
        connection.execute("INSERT INTO orders VALUES (0, '0', 1), (1, '0', 1), (2, '0', 1)")
    changes, shown = 100, []
    with tailrace.connect(f"sqlite:///{tmp_path}/events.db") as streams:
        topic = streams.topic("orders")
        begun = threading.Event()

        def write() -> None:
            with shop() as connection:
                for number in range(changes):
                    update = "UPDATE orders SET status = ?, version = version + 1 WHERE id = ? RETURNING version"
                    (version,) = connection.execute(update, (str(number), number % 3)).fetchone()
                    event = {"id": number % 3, "status": str(number), "version": version}
                    topic.append(json.dumps(event).encode())
                    begun.set()
            topic.seal()

        def show() -> None:
            *_, view = NAMES["watch"](topic, read)
            shown.append(view.orders)

        writer = threading.Thread(target=write)
        writer.start()
        assert begun.wait(30)
        pages = []
        while writer.is_alive() and len(pages) < 20:
            pages.append(threading.Thread(target=show))
            pages[-1].start()
        for thread in (writer, *pages):
            thread.join(60)
    assert len(pages) > 1
    assert shown == [read()] * len(pages)


def test_of_two_processes_that_keep_one_place_the_second_to_commit_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page runs a crash; this is the other case that it speaks of."""
    monkeypatch.chdir(tmp_path)
    shown = [block.body for block in blocks(PAGE.read_text("utf-8")) if block.language == "python"]
    until_billing = next(number for number, body in enumerate(shown) if "class Overtaken" in body) + 1
    with PostgresServer() as server:
        url = server.url(server.create_database())
        program = "\n".join(shown[:until_billing]).replace("postgresql://postgres@localhost/events", url)
        page: dict[str, Any] = {"__name__": "page"}
        exec(program, page)
        page["change_at_once"](7, "paid")

        def billed() -> Any:
            with psycopg.connect(url) as connection:
                return connection.execute("SELECT count(*) FROM invoices").fetchone()

        def the_other_is_first() -> None:
            if billed() == before:
                page["bill"](0.2)

        before = billed()
        with pytest.raises(page["Overtaken"]):
            page["bill"](0.2, crash=the_other_is_first)
        assert billed() == (before[0] + 1,)
        page["streams"].close()
        page["stored"].close()
