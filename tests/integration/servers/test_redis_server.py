"""A server that a test starts is a real one, keeps its place and its data, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tailrace.testing.leaks import no_leaks
from tailrace.testing.servers import ServerFailedError, ServerMissingError
from tailrace.testing.servers.redis import Flavour, RedisServer, RespError
from tailrace.testing.servers.redis.server import Aof
from tailrace.testing.servers.waiting import line_of, until


def test_it_is_what_it_says_it_is(server: RedisServer, kind: Flavour) -> None:
    about = server.info("server")

    assert about[f"{kind.product}_version"] == ".".join(map(str, kind.version))
    assert int(about["process_id"]) == server.pid
    assert int(about["tcp_port"]) == server.port < 32768


def test_with_an_append_only_file_what_was_answered_survives_sigkill(kind: Flavour) -> None:
    with RedisServer(kind, aof="always") as server:
        port = server.port
        server.call("XADD", "a", "*", "k", "v")
        server.kill()
        assert not server.alive
        with pytest.raises(ConnectionRefusedError):
            server.call("PING")

        server.start()
        assert server.call("XLEN", "a") == 1
        assert server.port == port


def test_without_one_nothing_survives_even_an_orderly_end(server: RedisServer) -> None:
    server.call("SET", "a", "b")
    server.restart()
    assert server.call("GET", "a") is None


@pytest.mark.parametrize("aof", ["no", "always"])
def test_a_backup_is_put_back_and_then_lives_like_the_original(kind: Flavour, aof: Aof, tmp_path: Path) -> None:
    with RedisServer(kind, aof=aof) as server:
        server.call("XADD", "a", "*", "k", "v")
        server.backup(tmp_path / "copy")
        server.call("XADD", "a", "*", "k", "v")

        server.restore(tmp_path / "copy")
        assert server.call("XLEN", "a") == 1
        server.call("XADD", "a", "*", "k", "v")
        server.restart()
        assert server.call("XLEN", "a") == (1 if aof == "no" else 2)


def test_users_and_passwords_are_asked_for(kind: Flavour) -> None:
    with RedisServer(kind, password="a@/", acl=["user reader on >secret ~app:* +@read"]) as server:
        with server.connect() as connection:
            connection.call("SET", "app:1", "x")
            connection.call("AUTH", "reader", "secret")
            assert connection.call("GET", "app:1") == b"x"
            for command in (["SET", "app:1", "y"], ["GET", "other"]):
                with pytest.raises(RespError) as refused:
                    connection.call(*command)
                assert refused.value.code == "NOPERM"

    with RedisServer(kind, password='a "b\\') as server:
        assert server.call("PING") == b"PONG"
        server.password = None
        with pytest.raises(RespError) as refused:
            server.call("PING")
        assert refused.value.code == "NOAUTH"


def test_a_directive_is_the_servers(kind: Flavour) -> None:
    with RedisServer(kind, settings={"maxmemory": "100kb", "maxmemory-policy": "noeviction"}) as server:
        # What an idle server needs for itself is more than that.
        with pytest.raises(RespError, match="OOM"):
            server.call("SET", "a", "x")

        server.configure("maxmemory", "64mb")
        server.restart()
        assert server.call("CONFIG", "GET", "maxmemory") == [b"maxmemory", str(64 * 2**20).encode()]


def test_it_listens_on_a_unix_socket(kind: Flavour) -> None:
    with RedisServer(kind, unix_socket=True) as server, socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(server.unix_socket))
        connection.sendall(b"PING\r\n")
        assert connection.recv(100) == b"+PONG\r\n"


def test_it_speaks_tls_if_it_was_built_with_it(kind: Flavour) -> None:
    if not kind.tls:
        with pytest.raises(ServerMissingError, match="not built with TLS"):
            RedisServer(kind, tls=True)
        return
    with RedisServer(kind, tls=True) as server:
        assert server.url.startswith("rediss://")
        with server.connect() as connection:
            assert connection.cipher() is not None
        with socket.create_connection(server.address, timeout=10) as plain:
            plain.sendall(b"PING\r\n")
            assert not _received(plain)


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(100)
    except ConnectionResetError:
        return b""


def test_a_frozen_server_answers_when_it_goes_on(server: RedisServer) -> None:
    server.freeze()
    with pytest.raises(TimeoutError):
        server.call("PING", timeout=0.1)
    assert server.alive
    server.thaw()
    assert server.call("PING") == b"PONG"


def test_the_thread_that_started_it_may_end(kind: Flavour) -> None:
    server = RedisServer(kind)
    thread = threading.Thread(target=server.start)
    thread.start()
    thread.join()
    try:
        assert server.call("PING") == b"PONG"
    finally:
        server.close()


def test_a_killed_test_process_takes_its_servers_along() -> None:
    program = (
        "import sys, time; from tailrace.testing.servers.redis import RedisServer, flavour\n"
        "with RedisServer(flavour()) as server:\n"
        "    print(server.pid, server.folder, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as tests:
        pid, folder = line_of(tests).split()
        tests.kill()
    try:
        until(lambda: not _runs(int(pid)), "the server is gone")
    finally:
        for file in Path(folder).iterdir():
            file.unlink()
        Path(folder).rmdir()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_nothing_is_left_behind(kind: Flavour) -> None:
    with no_leaks():
        with RedisServer(kind) as server:
            port, folder, pid = server.port, server.folder, server.pid
    assert not folder.exists()
    assert not _runs(pid)
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_a_server_that_can_not_start_says_why() -> None:
    with pytest.raises(ServerFailedError, match="no-such-directive"):
        RedisServer(settings={"no-such-directive": "yes"}).__enter__()


def test_one_that_ended_by_itself_is_not_alive(server: RedisServer) -> None:
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: not server.alive, "its end is noticed")
    server.start()
    assert server.call("PING") == b"PONG"
