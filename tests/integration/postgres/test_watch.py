"""Hints come for followed topics only, over one connection, however they come; a server that is gone is noticed."""

import contextlib
import threading
import time

import psycopg
import pytest
from tests.forks.children import child, ended_well
from tests.integration.postgres.conftest import Watching
from tests.integration.postgres.heads import Heads, moved

from tailrace import DurableStreamUnavailableError, spi
from tailrace.backends import pulse
from tailrace.backends.postgres import probing
from tailrace.backends.postgres.channels import COUNT, NAMED
from tailrace.backends.postgres.line import connect
from tailrace.backends.postgres.watch import PostgresWatch
from tailrace.testing.servers.postgres import PgBouncer, PostgresServer

ODD = ("ü" * 256, "a'b\"\\{},%s", "a b", "\x01")


@pytest.fixture(params=["listening", "polling"])
def watch(request: pytest.FixtureRequest, server: PostgresServer, heads: Heads, watching: Watching) -> PostgresWatch:
    """A watch that listens, and one that asks."""
    way = server if request.param == "listening" else request.getfixturevalue("pooler")
    opened = watching(way.url(heads.database))
    assert opened.listens == (request.param == "listening")
    return opened


def test_changes_of_followed_topics_are_told(heads: Heads, watch: PostgresWatch) -> None:
    watch.follow({"a", "b"}, ())
    heads.move("other")
    heads.move("a")
    assert moved(watch, {"a"}) == {"a"}
    heads.move("b", "other")
    assert moved(watch, {"b"}) == {"b"}
    watch.follow((), {"a"})
    heads.move("a")
    heads.move("b")
    assert moved(watch, {"b"}) == {"b"}


def test_any_name_may_be_followed(heads: Heads, watch: PostgresWatch) -> None:
    watch.follow(ODD, ())
    for name in ODD:
        heads.move(name)
        assert moved(watch, {name}) == {name}


def test_many_that_change_at_once_are_all_told(heads: Heads, watch: PostgresWatch) -> None:
    names = {f"t{number}" for number in range(3000)}
    watch.follow(names, ())
    heads.connection.execute(
        "INSERT INTO topics SELECT convert_to('t' || n, 'UTF8'), 1, 1, 1, false FROM generate_series(0, 2999) AS n"
    )
    heads.move(*sorted(names)[:1000], "other")
    heads.move(*sorted(names)[1000:])
    assert moved(watch, names) == names


def test_what_is_told_while_more_is_followed_is_kept(heads: Heads, watch: PostgresWatch) -> None:
    watch.follow({"a"}, ())
    heads.move("a")
    watch.follow({f"t{number}" for number in range(700)}, ())
    assert moved(watch, {"a"}) == {"a"}


def test_an_interrupt_ends_a_wait_that_runs_and_the_next_one(watch: PostgresWatch) -> None:
    watch.interrupt()
    started = time.monotonic()
    watch.wait(10)
    timer = threading.Timer(0.05, watch.interrupt)
    timer.start()
    watch.wait(10)
    assert time.monotonic() - started < 5
    timer.join()


def test_a_wait_ends_at_its_timeout(watch: PostgresWatch) -> None:
    started = time.monotonic()
    assert watch.wait(0.05) == spi.Changes()
    assert 0.04 < time.monotonic() - started < 5


def test_closing_frees_a_wait_and_is_idempotent(watch: PostgresWatch) -> None:
    timer = threading.Timer(0.05, watch.close)
    timer.start()
    started = time.monotonic()
    # Told where it was closed over a question.
    with contextlib.suppress(DurableStreamUnavailableError):
        watch.wait(10)
    assert time.monotonic() - started < 5
    timer.join()
    watch.close()
    watch.interrupt()
    with pytest.raises(DurableStreamUnavailableError):
        watch.wait(0)
    with pytest.raises(DurableStreamUnavailableError):
        watch.follow({"a"}, ())


def test_a_connection_that_is_terminated_is_told(server: PostgresServer, heads: Heads, watching: Watching) -> None:
    watch = watching(server.url(heads.database))
    watch.follow({"a"}, ())
    heads.terminate_others()
    with pytest.raises(DurableStreamUnavailableError, match="lost"):
        watch.wait(5)


def test_a_pooler_that_ends_is_told(server: PostgresServer, heads: Heads, watching: Watching) -> None:
    with PgBouncer(server) as pooler:
        watch = watching(pooler.url(heads.database))
        watch.follow({"a"}, ())
        pooler.kill()
        with pytest.raises(DurableStreamUnavailableError, match="lost"):
            watch.wait(5)


def test_a_server_that_ends_is_told(server: PostgresServer, heads: Heads, watching: Watching) -> None:
    watch = watching(server.url(heads.database))
    watch.follow({"a"}, ())
    server.kill()
    try:
        with pytest.raises(DurableStreamUnavailableError, match="lost"):
            watch.wait(5)
    finally:
        server.start()
        heads.reconnect()


def test_a_server_that_hangs_is_asked_and_found_out(
    server: PostgresServer, heads: Heads, watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "SILENCE", 0.5)
    watch = watching(server.url(heads.database))
    watch.follow({"a"}, ())
    # It answers: the wait goes on.
    assert watch.wait(1.2) == spi.Changes()
    server.freeze()
    try:
        with pytest.raises(DurableStreamUnavailableError, match="silent"):
            watch.wait(5)
        assert not watch.reliable
    finally:
        server.thaw()


def test_a_hanging_server_ends_a_question_when_the_time_is_over(
    server: PostgresServer, heads: Heads, watching: Watching
) -> None:
    watch = watching(server.url(heads.database))
    watch._patience = 0.2
    server.freeze()
    try:
        with pytest.raises(DurableStreamUnavailableError, match="in time"):
            watch.follow({"a"}, ())
    finally:
        server.thaw()


def test_closing_ends_a_question_to_a_hanging_server(server: PostgresServer, heads: Heads, watching: Watching) -> None:
    watch = watching(server.url(heads.database))
    server.freeze()
    timer = threading.Timer(0.05, watch.close)
    timer.start()
    started = time.monotonic()
    try:
        with pytest.raises(DurableStreamUnavailableError, match="closed"):
            watch.follow({"a"}, ())
        assert time.monotonic() - started < 5
    finally:
        timer.join()
        server.thaw()


def test_however_many_topics_are_followed_there_is_one_connection_and_few_channels(
    server: PostgresServer, heads: Heads, watching: Watching
) -> None:
    watch = watching(server.url(heads.database))
    names = {f"t{number}" for number in range(10_000)}
    watch.follow(names, ())
    rows = heads.connection.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    ).fetchall()
    assert rows == [(1,)]
    listens = watch._line.ask("SELECT count(*) FROM pg_listening_channels()", None, time.monotonic() + 5)
    assert listens.get_value(0, 0) == str(COUNT).encode()
    watch.follow((), names)
    listens = watch._line.ask("SELECT count(*) FROM pg_listening_channels()", None, time.monotonic() + 5)
    assert listens.get_value(0, 0) == b"0"


def test_more_changes_than_one_message_can_name_are_told_as_any_of_their_channel(
    heads: Heads, watch: PostgresWatch
) -> None:
    channel = heads.channels.of("a").channel
    here = [name for name in map(str, range(100_000)) if heads.channels.of(name).channel == channel]
    assert heads.channels.statement(here[: NAMED + 1]) == f"NOTIFY {channel}, ''"
    assert len(heads.channels.statement(here[:NAMED])) < 8000
    watch.follow(here[:3], ())
    heads.move(*here[: NAMED + 1])
    assert moved(watch, set(here[:3])) == set(here[:3])


def test_a_pooler_that_lends_by_session_is_listened_through(
    server: PostgresServer, heads: Heads, watching: Watching
) -> None:
    with PgBouncer(server, mode="session") as pooler:
        watch = watching(pooler.url(heads.database))
        assert watch.listens
        watch.follow({"a"}, ())
        heads.move("a")
        assert moved(watch, {"a"}) == {"a"}


def test_a_pooler_that_lends_by_transaction_is_asked_and_says_so(
    pooler: PgBouncer, heads: Heads, watching: Watching
) -> None:
    watch = watching(pooler.url(heads.database))
    assert not watch.listens
    assert not watch.reliable


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE topics SET sealed = true",
        "UPDATE topics SET incarnation = 2, last_position = 1",
        "UPDATE topics SET last_tag = 7",
        "DELETE FROM topics",
    ],
)
def test_asking_finds_every_change_that_matters(
    pooler: PgBouncer, heads: Heads, watching: Watching, change: str
) -> None:
    heads.move("a")
    watch = watching(pooler.url(heads.database))
    watch.follow({"a"}, ())
    heads.change(change)
    assert moved(watch, {"a"}) == {"a"}
    assert watch.wait(0.2) == spi.Changes()


def test_a_second_connection_that_can_not_be_had_is_no_reason_to_ask(
    server: PostgresServer, pooler: PgBouncer, heads: Heads, watching: Watching
) -> None:
    for way in (server, pooler):
        left = [connect(way.url(heads.database), time.monotonic() + 5)]

        def dial(_: float, left: list[object] = left) -> object:
            if not left:
                raise DurableStreamUnavailableError("too many connections")
            return left.pop()

        watch = PostgresWatch(dial, heads.channels, heads.table, "PostgreSQL", 5.0)  # type: ignore[arg-type]
        assert watch.listens == (way is server)
        watch.close()


def test_a_child_lets_go_and_its_parent_goes_on_hearing(heads: Heads, watch: PostgresWatch) -> None:
    watch.follow({"a"}, ())

    def let_go() -> None:
        watch.disown()
        watch.close()

    assert ended_well(child(let_go))
    heads.move("a")
    assert moved(watch, {"a"}) == {"a"}


def test_what_a_pooler_does_with_prepared_statements_is_recognised(pooler: PgBouncer, heads: Heads) -> None:
    urls = [pooler.url(heads.database)] * 2
    with psycopg.connect(urls[0], autocommit=True) as one, psycopg.connect(urls[1], autocommit=True) as other:
        assert probing.pooled(one.pgconn, one.execute(probing.PID).fetchall()[0][0])
        one.execute("SELECT 1", prepare=True)
        with pytest.raises(psycopg.Error) as refused:
            # The same connection of the server is lent, and the name is taken there.
            other.execute("SELECT 2", prepare=True)
        assert probing.is_lost_preparation(refused.value)
        assert not probing.is_lost_preparation(ValueError())
        assert other.execute("SELECT 2", prepare=False).fetchall() == [(2,)]
    with psycopg.connect(heads.url) as direct:
        assert not probing.pooled(direct.pgconn, direct.execute(probing.PID).fetchall()[0][0])
