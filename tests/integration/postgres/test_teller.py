"""What changed is told in one statement, over one connection, and never at the expense of whoever appended."""

import math
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from psycopg.pq.abc import PGconn
from tests.integration.postgres.conftest import Watching
from tests.integration.postgres.heads import Heads, moved

from tailrace import DurableStreamUnavailableError
from tailrace.backends.postgres import teller as module
from tailrace.backends.postgres.line import connect
from tailrace.backends.postgres.teller import Teller
from tailrace.backends.postgres.watch import PostgresWatch
from tailrace.testing.servers.postgres import PgBouncer, PostgresServer
from tailrace.testing.servers.waiting import until


class Dialling:
    """Opens connections, counts them, and may be told not to."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.calls = 0
        self.before: Callable[[], object] = bool

    def __call__(self, deadline: float) -> PGconn:
        self.calls += 1
        self.before()
        return connect(self.url, deadline)


@pytest.fixture
def dial(server: PostgresServer, heads: Heads) -> Dialling:
    return Dialling(server.url(heads.database))


@pytest.fixture
def teller(dial: Dialling, heads: Heads) -> Iterator[Teller]:
    teller = Teller(dial, heads.channels)
    yield teller
    teller.close()


def burst(teller: Teller) -> None:
    """Have the thread of a burst begin, however long a statement takes here."""
    teller.tell({"a"})
    teller._again_at = math.inf
    teller.tell({"b"})


@pytest.fixture
def watch(server: PostgresServer, heads: Heads, watching: Watching) -> PostgresWatch:
    """One that follows a few topics."""
    watch = watching(server.url(heads.database))
    watch.follow({"a", "b", "c"}, ())
    return watch


def test_one_connection_is_opened_when_there_is_something_to_tell(
    teller: Teller, dial: Dialling, watch: PostgresWatch
) -> None:
    assert dial.calls == 0
    for topic in "abcabc":
        teller.tell({topic})
        assert moved(watch, {topic}) == {topic}
    assert dial.calls == 1


def test_it_goes_through_a_pooler(pooler: PgBouncer, heads: Heads, watch: PostgresWatch) -> None:
    teller = Teller(Dialling(pooler.url(heads.database)), heads.channels)
    teller.tell({"a", "b"})
    assert moved(watch, {"a", "b"}) == {"a", "b"}
    teller.close()


def test_what_comes_while_another_thread_tells_is_taken_along_in_one_statement(
    teller: Teller, dial: Dialling, heads: Heads, watch: PostgresWatch
) -> None:
    dialled, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        dialled.set()
        go_on.wait(10)

    dial.before = hold
    first = threading.Thread(target=teller.tell, args=({"a"},))
    first.start()
    assert dialled.wait(10)
    # Returns at once: that thread is not to wait for this one's server.
    teller.tell({"b"})
    teller.tell({"c", "b"})
    go_on.set()
    first.join()
    assert moved(watch, {"a", "b", "c"}) == {"a", "b", "c"}
    last = heads.connection.execute("SELECT query FROM pg_stat_activity WHERE query LIKE 'NOTIFY%'").fetchall()
    assert last in ([(heads.channels.statement(order),)] for order in (["b", "c"], ["c", "b"]))


def test_a_burst_is_told_in_few_statements_to_its_end_and_leaves_no_thread(
    teller: Teller, dial: Dialling, watch: PostgresWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []
    send = Teller._send
    monkeypatch.setattr(Teller, "_send", lambda self, *what: (sent.append(what[0]), send(self, *what))[1])
    burst(teller)
    for _ in range(1000):
        teller.tell({"b"})
    teller.tell({"c"})
    assert moved(watch, {"a", "b", "c"}) == {"a", "b", "c"}
    assert len(sent) < 100
    thread = teller._thread
    assert thread is not None
    thread.join(10)
    assert not thread.is_alive()
    teller.tell({"a"})
    assert moved(watch, {"a"}) == {"a"}
    assert dial.calls == 1


def test_closing_ends_a_burst(teller: Teller, watch: PostgresWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    # It would not end by itself, and is waited for for long enough.
    monkeypatch.setattr(module, "CALM", 10**9)
    monkeypatch.setattr(module, "PATIENCE", 60.0)
    burst(teller)
    thread = teller._thread
    teller.close()
    assert thread is not None
    assert not thread.is_alive()
    assert teller._line is None


def test_a_connection_that_was_ended_meanwhile_is_replaced_at_once(
    teller: Teller, dial: Dialling, server: PostgresServer, heads: Heads, watching: Watching
) -> None:
    teller.tell({"a"})
    server.restart()
    heads.reconnect()
    watch = watching(server.url(heads.database))
    watch.follow({"a"}, ())
    teller.tell({"a"})
    assert moved(watch, {"a"}) == {"a"}
    assert dial.calls == 2


def test_a_server_that_is_away_is_no_error_and_not_tried_each_time(
    teller: Teller, dial: Dialling, watch: PostgresWatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse() -> None:
        raise DurableStreamUnavailableError("away")

    dial.before = refuse
    teller.tell({"a"})
    teller.tell({"a"})
    assert dial.calls == 1
    assert caplog.text.count("could not be told: away") == 1
    dial.before = bool
    teller._silent_until = 0.0
    teller.tell({"b"})
    assert moved(watch, {"b"}) == {"b"}


def test_a_server_that_hangs_holds_nobody_up_for_long(
    teller: Teller, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    teller.tell({"a"})
    server.freeze()
    started = time.monotonic()
    try:
        for _ in range(20):
            teller.tell({"a"})
        assert time.monotonic() - started < 3.5
    finally:
        server.thaw()


def test_whoever_is_interrupted_over_it_keeps_nobody_from_telling(
    teller: Teller, dial: Dialling, watch: PostgresWatch
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    dial.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        teller.tell({"a"})
    dial.before = bool
    teller.tell({"b"})
    assert moved(watch, {"b"}) == {"b"}


def test_closed_it_says_nothing_and_leaves_no_connection(teller: Teller, dial: Dialling, heads: Heads) -> None:
    teller.tell({"a"})
    teller.close()
    teller.close()
    teller.tell({"a"})
    assert dial.calls == 1
    telling = "SELECT FROM pg_stat_activity WHERE query LIKE 'NOTIFY%'"
    until(lambda: not heads.connection.execute(telling).fetchall(), "its connection is gone")
