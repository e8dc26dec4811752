"""The watch of PostgreSQL and what tells it stall no greenlet while they wait. Run by patched.py."""

import time
from collections.abc import Iterator

import gevent
import pytest
from tests.integration.postgres.heads import Heads, moved

from tailrace import DurableStreamUnavailableError, native
from tailrace.backends.postgres import teller
from tailrace.backends.postgres.line import connect
from tailrace.backends.postgres.watch import PostgresWatch
from tailrace.testing.servers.postgres import PgBouncer, PostgresServer


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="module")
def pooler(server: PostgresServer) -> Iterator[PgBouncer]:
    with PgBouncer(server) as pooler:
        yield pooler


@pytest.fixture
def heads(server: PostgresServer) -> Iterator[Heads]:
    # The driver waits as it was imported: here, perhaps, before the patch.
    database = native.call(server.create_database)
    heads = Heads(database, server.url(database))
    yield heads
    heads.close()


@pytest.fixture(params=["listening", "polling"])
def watch(request: pytest.FixtureRequest, server: PostgresServer, heads: Heads) -> Iterator[PostgresWatch]:
    way = server if request.param == "listening" else request.getfixturevalue("pooler")
    url = way.url(heads.database)
    watch = PostgresWatch(lambda deadline: connect(url, deadline), heads.channels, heads.table, "PostgreSQL", 1.0)
    yield watch
    watch.close()


def test_a_wait_lets_others_run_and_is_ended_by_an_interrupt_a_hint_and_a_close(
    heads: Heads, watch: PostgresWatch
) -> None:
    watch.follow({"a"}, ())
    for act in (watch.interrupt, lambda: heads.move("a"), watch.close):
        waiting = gevent.spawn(watch.wait, 10.0)
        gevent.sleep(0.3)
        assert not waiting.ready()
        act()
        waiting.get(timeout=5)


def test_a_burst_is_told(heads: Heads, watch: PostgresWatch) -> None:
    names = {f"t{number}" for number in range(50)}
    watch.follow(names, ())
    telling = [gevent.spawn(heads.move, name) for name in names]
    assert moved(watch, names) == names
    gevent.joinall(telling, timeout=5, raise_error=True)


def test_a_question_to_a_server_that_hangs_lets_others_run(
    server: PostgresServer, heads: Heads, watch: PostgresWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teller, "PATIENCE", 1.0)
    heads.teller.tell({"a"})
    server.freeze()
    try:
        following = gevent.spawn(watch.follow, {"a"}, ())
        telling = [gevent.spawn(heads.teller.tell, {"a"}) for _ in range(3)]
        started = time.monotonic()
        with pytest.raises(DurableStreamUnavailableError, match="in time"):
            following.get(timeout=5)
        assert 0.5 < time.monotonic() - started < 3
        gevent.joinall(telling, timeout=5, raise_error=True)
    finally:
        server.thaw()
