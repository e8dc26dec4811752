"""A PostgreSQL server that a test starts is a real one, keeps its place and its data, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tailrace.testing.leaks import no_leaks
from tailrace.testing.servers import ServerFailedError, ServerMissingError
from tailrace.testing.servers.accounts import Account, within_reach
from tailrace.testing.servers.families import children, runs
from tailrace.testing.servers.postgres import Flavour, PgBouncer, PostgresServer, flavour, flavours
from tailrace.testing.servers.postgres.clusters import environment
from tailrace.testing.servers.waiting import line_of, until


@pytest.fixture(scope="module")
def shared(postgres_kind: Flavour) -> Iterator[PostgresServer]:
    """A server whose settings nobody changes, and that runs at the end of each test."""
    with PostgresServer(postgres_kind) as server:
        yield server


def test_it_is_what_it_says_it_is(shared: PostgresServer, postgres_kind: Flavour) -> None:
    with psycopg.connect(shared.url()) as connection:
        assert connection.info.server_version == postgres_kind.version[0] * 10000 + postgres_kind.version[1]
        assert connection.execute("SELECT inet_server_port(), current_user").fetchone() == (shared.port, "postgres")
    assert shared.port < 32768
    pidfile = (shared.data / "postmaster.pid").read_text().split()
    assert int(pidfile[0]) == shared.pid


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the user")
def test_started_by_root_it_is_somebody_without_rights(shared: PostgresServer) -> None:
    assert Path(f"/proc/{shared.pid}").stat().st_uid != 0
    for pid in children(shared.pid):
        with suppress(FileNotFoundError):  # a helper process of the server that has ended since it was listed
            assert Path(f"/proc/{pid}").stat().st_uid != 0


def _crash(server: PostgresServer) -> None:
    server.kill()
    server.start()


@pytest.mark.parametrize("blow", [PostgresServer.restart, _crash])
def test_what_was_committed_survives(shared: PostgresServer, blow: Callable[[PostgresServer], None]) -> None:
    database, port = shared.create_database(), shared.port
    shared.execute("CREATE TABLE kept (a int)", database=database)
    shared.execute("INSERT INTO kept VALUES (%s)", [1], database=database)

    with psycopg.connect(shared.url(database)) as connection:
        blow(shared)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert shared.execute("SELECT a FROM kept", database=database) == [(1,)]
    assert shared.port == port
    shared.drop_database(database)


def test_killed_it_ends_with_all_of_its_processes_and_refuses(shared: PostgresServer) -> None:
    family = children(shared.pid)
    assert family
    shared.kill()
    try:
        assert not any(map(runs, family))
        with pytest.raises(psycopg.OperationalError, match="refused"):
            psycopg.connect(shared.url())
    finally:
        shared.start()


def test_one_that_ended_by_itself_is_not_alive(shared: PostgresServer) -> None:
    os.kill(shared.pid, signal.SIGKILL)
    until(lambda: not shared.alive, "its end is noticed")
    # What it started ends by itself, and until then holds the memory.
    until(lambda: _starts(shared), "it starts again")
    assert shared.execute("SELECT 1") == [(1,)]


def _starts(server: PostgresServer) -> bool:
    try:
        server.start()
    except ServerFailedError:
        return False
    return True


def test_frozen_it_takes_connections_and_answers_nobody_until_it_goes_on(shared: PostgresServer) -> None:
    answered = threading.Event()
    with psycopg.connect(shared.url(), autocommit=True) as connection:
        shared.freeze()

        def ask() -> None:
            connection.execute("SELECT 1")
            answered.set()

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            with pytest.raises(psycopg.OperationalError, match="timeout"):
                psycopg.connect(shared.url(connect_timeout="2"))
            assert not answered.is_set()
            assert shared.alive
        finally:
            shared.thaw()
            thread.join()
    assert answered.is_set()


def test_roles_have_no_rights_and_passwords_are_asked_for(postgres_kind: Flavour) -> None:
    with PostgresServer(postgres_kind, password="a@/'b") as server:
        with psycopg.connect(server.url()) as connection:
            connection.execute("SELECT 1")
        server.create_role("reader", "secret")
        with psycopg.connect(server.url(user="reader", password="secret")) as connection:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("CREATE TABLE public.a (b int)")
        for wrong in (server.url(user="reader", password="x"), server.url(password="x")):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(wrong)


def test_it_speaks_tls_and_nothing_else_if_it_was_built_with_it(postgres_kind: Flavour) -> None:
    if not postgres_kind.tls:
        with pytest.raises(ServerMissingError, match="not built with TLS"):
            PostgresServer(postgres_kind, tls=True)
        return
    with PostgresServer(postgres_kind, tls=True) as server:
        with psycopg.connect(server.url()) as connection:
            assert connection.pgconn.ssl_in_use
        with pytest.raises(psycopg.OperationalError, match="no encryption"):
            psycopg.connect(server.url(sslmode="disable"))


def test_a_setting_is_the_servers(postgres_kind: Flavour) -> None:
    with PostgresServer(postgres_kind, settings={"max_connections": 7, "synchronous_commit": False}) as server:
        server.restart()
        assert server.execute("SHOW max_connections") == [("7",)]
        assert server.execute("SHOW synchronous_commit") == [("off",)]


def test_a_server_that_can_not_start_says_why() -> None:
    with pytest.raises(ServerFailedError, match="no_such_setting"):
        PostgresServer(settings={"no_such_setting": 1}).__enter__()


def test_a_killed_test_process_takes_its_servers_along() -> None:
    program = (
        "import sys, time; from tailrace.testing.servers.postgres import PostgresServer\n"
        "with PostgresServer() as server:\n"
        "    print(server.pid, server.folder, flush=True); time.sleep(60)"
    )
    # A folder for all that is shared, so that nothing is left of what it made.
    with PostgresServer() as ours:
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as tests:
            pid, folder = line_of(tests).split()
            tests.kill()
        until(lambda: not runs(int(pid)), "the server is gone")
        assert ours.execute("SELECT 1") == [(1,)]
    subprocess.run(["rm", "-r", folder], check=True)


def test_nothing_is_left_behind(postgres_kind: Flavour) -> None:
    with no_leaks():
        with PostgresServer(postgres_kind) as server:
            folder, pid = server.folder, server.pid
    assert not folder.exists()
    assert not runs(pid)


def test_data_directories_are_made_once_and_removed_with_the_process_that_made_them() -> None:
    program = (
        "from tailrace.testing.servers.postgres import PostgresServer\n"
        "for _ in range(2):\n"
        "    with PostgresServer() as server:\n"
        "        print(server.execute('SELECT system_identifier FROM pg_control_system()')[0][0])\n"
    )
    # Not in a folder of pytest's: its name is so long that the server could not name its socket.
    with tempfile.TemporaryDirectory() as folder:
        # Everybody may pass.
        Path(folder).chmod(0o711)
        own = {**os.environ, "TMPDIR": folder}
        own.pop("TAILRACE_TEST_SERVERS", None)
        done = subprocess.run(
            [sys.executable, "-c", program], env=own, capture_output=True, text=True, timeout=200, check=True
        )
        first, second = done.stdout.split()
        assert first == second
        assert list(Path(folder).iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the user")
def test_programs_that_the_user_can_not_reach_are_run_from_a_copy(postgres_kind: Flavour, tmp_path: Path) -> None:
    account = Account.for_servers()
    assert account is not None
    hidden, top = tmp_path / "hidden", postgres_kind.top
    hidden.mkdir(mode=0o700)
    needed = [top / part for part in postgres_kind.parts] or list(top.iterdir())
    subprocess.run(["cp", "-r", *needed, hidden], check=True)

    initdb = hidden / postgres_kind.folder.relative_to(top) / "initdb"
    program = within_reach(initdb, hidden, account, postgres_kind.parts)
    assert not program.is_relative_to(hidden)
    done = subprocess.run(
        [program, "--version"],
        env={**os.environ, **environment(postgres_kind, program)},
        cwd="/",
        user=account.uid,
        group=account.gid,
        extra_groups=[],
        stdout=subprocess.PIPE,
        check=True,
    )
    assert b"PostgreSQL" in done.stdout


def test_what_is_not_here_is_named_with_what_to_do() -> None:
    with pytest.raises(ServerMissingError, match=r"no server here is postgres >= 99 .*make servers"):
        flavour(at_least=(99,))


@pytest.mark.parametrize("wrong", ["/no/such/folder", "/bin"])
def test_a_folder_without_a_server_is_not_passed_over(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("TAILRACE_POSTGRES_BIN", wrong)
    with pytest.raises(ServerMissingError, match=f"names {wrong}"):
        flavours()


def test_through_the_pooler_a_transaction_has_a_connection_and_the_next_one_another(shared: PostgresServer) -> None:
    with PgBouncer(shared, settings={"default_pool_size": 2}) as pooler:
        with psycopg.connect(pooler.url()) as one, psycopg.connect(pooler.url()) as other:
            first = one.execute("SELECT pg_backend_pid()").fetchone()
            assert other.execute("SELECT pg_backend_pid()").fetchone() != first
            one.rollback()
            other.rollback()
            with psycopg.connect(pooler.url()) as third, psycopg.connect(pooler.url()) as fourth:
                # The connections of the first two: there are no more, and they are free.
                pids = {connection.execute("SELECT pg_backend_pid()").fetchone() for connection in (third, fourth)}
        assert first in pids


def test_the_pooler_is_stopped_started_and_frozen_like_a_server(shared: PostgresServer) -> None:
    with PgBouncer(shared, mode="session", users=["somebody"]) as pooler:
        port = pooler.port
        pooler.kill()
        with pytest.raises(psycopg.OperationalError, match="refused"):
            psycopg.connect(pooler.url())
        pooler.start()
        assert pooler.port == port
        pooler.freeze()
        with pytest.raises(psycopg.OperationalError, match="timeout"):
            psycopg.connect(f"{pooler.url()}?connect_timeout=2")
        pooler.thaw()
        with psycopg.connect(pooler.url()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
