"""A MariaDB server that a test starts is a real one, keeps its place and its data, and leaves nothing behind."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pymysql
import pytest

from tailrace.testing.leaks import no_leaks
from tailrace.testing.servers import ServerMissingError
from tailrace.testing.servers.mariadb import MariadbServer, flavour
from tailrace.testing.servers.mariadb.flavours import VARIABLE


@pytest.fixture(scope="module")
def shared() -> Iterator[MariadbServer]:
    """A server whose settings nobody changes, and that runs at the end of each test."""
    with MariadbServer() as server:
        yield server


def test_it_is_what_it_says_it_is(shared: MariadbServer) -> None:
    with contextlib.closing(pymysql.connect(host="127.0.0.1", port=shared.port, user="root")) as connection:
        assert connection.server_version.removeprefix("5.5.5-").startswith(shared.flavour.name.removeprefix("mariadb-"))
    assert shared.port < 32768


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the user")
def test_started_by_root_it_is_somebody_without_rights(shared: MariadbServer) -> None:
    assert Path(f"/proc/{shared.pid}").stat().st_uid != 0


def _crash(server: MariadbServer) -> None:
    server.kill()
    server.start()


@pytest.mark.parametrize("blow", [MariadbServer.restart, _crash])
def test_what_was_committed_survives(shared: MariadbServer, blow: Callable[[MariadbServer], None]) -> None:
    database, port = shared.create_database(), shared.port
    shared.execute("CREATE TABLE kept (a int)", database=database)
    shared.execute("INSERT INTO kept VALUES (%s)", [1], database=database)
    with contextlib.closing(shared.connect(database)) as connection:
        blow(shared)
        with pytest.raises(pymysql.OperationalError):
            connection.cursor().execute("SELECT 1")
    assert shared.execute("SELECT a FROM kept", database=database) == [(1,)]
    assert shared.port == port
    shared.drop_database(database)


def test_frozen_it_takes_connections_and_answers_nobody_until_it_goes_on(shared: MariadbServer) -> None:
    answered = threading.Event()
    with contextlib.closing(shared.connect()) as connection:
        shared.freeze()

        def ask() -> None:
            connection.cursor().execute("SELECT 1")
            answered.set()

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            with pytest.raises(pymysql.OperationalError):
                pymysql.connect(host="127.0.0.1", port=shared.port, user="root", read_timeout=1)
            assert not answered.is_set()
            assert shared.alive
        finally:
            shared.thaw()
            thread.join()
    assert answered.is_set()


def test_passwords_are_asked_for_and_users_have_no_rights() -> None:
    with MariadbServer(password="a@/'b") as server:
        server.create_user("reader", "secret")
        there = {"host": "127.0.0.1", "port": server.port}
        with contextlib.closing(pymysql.connect(**there, user="reader", password="secret")) as connection:
            with pytest.raises(pymysql.OperationalError):
                connection.cursor().execute("CREATE DATABASE other")
        with contextlib.closing(pymysql.connect(**there, user="root", password="a@/'b")):
            pass
        for user in ("reader", "root"):
            with pytest.raises(pymysql.OperationalError):
                pymysql.connect(**there, user=user, password="x")


def test_it_speaks_tls_and_nothing_else() -> None:
    with MariadbServer(tls=True) as server:
        assert server.certificates is not None
        there = {"host": "127.0.0.1", "port": server.port, "user": "root"}
        ssl = {"ca": str(server.certificates.authority)}
        with contextlib.closing(pymysql.connect(**there, ssl=ssl)) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
            assert cursor.fetchone()[1]
        with pytest.raises(pymysql.OperationalError):
            pymysql.connect(**there, ssl_disabled=True)


def test_it_leaves_nothing_behind() -> None:
    with no_leaks():
        server = MariadbServer()
        with server:
            pid = server.pid
        assert not server.folder.exists()
        assert not Path(f"/proc/{pid}").exists()


def test_a_missing_one_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere/mariadbd")
    with pytest.raises(ServerMissingError, match="make servers"):
        flavour()
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ServerMissingError, match="MariaDB >= 99"):
        flavour(at_least=(99,))
