"""The proxy breaks connections as it is told, and only then."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tailrace.testing.faults import FlakyProxy
from tailrace.testing.leaks import no_leaks
from tailrace.testing.servers.waiting import until


class EchoServer:
    """Answers every chunk with itself; remembers what it was sent."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(65536):
                    self.heard.append(data)
                    connection.sendall(data)
            except OSError:
                return


@pytest.fixture
def server(no_leaks: None) -> Iterator[EchoServer]:
    server = EchoServer()
    yield server
    server.close()


@pytest.fixture
def proxy(server: EchoServer) -> Iterator[FlakyProxy]:
    with FlakyProxy(server.address) as proxy:
        yield proxy


def _connect(proxy: FlakyProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=10)


def _ask(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    try:
        return connection.recv(65536)
    except ConnectionError:
        return b""


def test_it_forwards(proxy: FlakyProxy) -> None:
    with _connect(proxy) as first, _connect(proxy) as second:
        assert _ask(first, b"a") == b"a"
        assert _ask(second, b"b") == b"b"
        assert _ask(first, b"c") == b"c"


def test_it_drops_the_reply_to_one_request_that_did_arrive(proxy: FlakyProxy, server: EchoServer) -> None:
    proxy.drop_reply(lambda sent: sent.startswith(b"WRITE"))
    with _connect(proxy) as first, _connect(proxy) as second:
        assert _ask(first, b"READ") == b"READ"
        assert _ask(first, b"WRITE 1") == b""
        assert _ask(second, b"WRITE 2") == b"WRITE 2"
    assert server.heard == [b"READ", b"WRITE 1", b"WRITE 2"]


def test_it_cuts_every_connection_and_takes_new_ones(proxy: FlakyProxy) -> None:
    with _connect(proxy) as first, _connect(proxy) as second:
        assert _ask(first, b"a") == b"a"
        assert _ask(second, b"b") == b"b"
        assert proxy.cut() == 2
        assert _is_closed(first)
        assert _is_closed(second)
        with _connect(proxy) as third:
            assert _ask(third, b"c") == b"c"


def test_it_refuses_until_it_accepts(proxy: FlakyProxy) -> None:
    proxy.refuse()
    assert _is_refused(proxy)
    proxy.accept()
    with _connect(proxy) as connection:
        assert _ask(connection, b"a") == b"a"


def test_it_delays(proxy: FlakyProxy) -> None:
    with _connect(proxy) as connection:
        assert _ask(connection, b"a") == b"a"
        proxy.delay = 0.1
        started = time.monotonic()
        assert _ask(connection, b"b") == b"b"
        assert time.monotonic() - started >= 0.2


def test_it_holds_replies_until_it_lets_them_flow(proxy: FlakyProxy, server: EchoServer) -> None:
    with _connect(proxy) as connection:
        assert _ask(connection, b"a") == b"a"
        proxy.stall(requests=False)
        connection.sendall(b"b")
        _until_heard(server, b"b")
        connection.settimeout(0.05)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(10)
        proxy.flow()
        assert connection.recv(1) == b"b"


def test_it_holds_requests_until_it_lets_them_flow(proxy: FlakyProxy, server: EchoServer) -> None:
    with _connect(proxy) as connection:
        assert _ask(connection, b"a") == b"a"
        proxy.stall()
        connection.settimeout(0.05)
        with pytest.raises(TimeoutError):
            _ask(connection, b"b")
        assert server.heard == [b"a"]
        connection.settimeout(10)
        proxy.flow()
        assert connection.recv(1) == b"b"


def test_it_can_be_closed_while_it_holds_something(server: EchoServer) -> None:
    with no_leaks():
        with FlakyProxy(server.address) as proxy, _connect(proxy) as connection:
            proxy.stall()
            connection.sendall(b"a")
        assert server.heard == []


def _until_heard(server: EchoServer, what: bytes) -> None:
    until(lambda: what in server.heard, "the server hears it")


def test_a_target_that_is_gone_is_a_reset(server: EchoServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = gone.getsockname()
    with FlakyProxy(address) as proxy:
        assert _is_refused(proxy)


def test_it_gives_back_every_thread_and_socket(server: EchoServer) -> None:
    with no_leaks():
        with FlakyProxy(server.address) as proxy:
            connections = [_connect(proxy) for _ in range(5)]
            assert [_ask(connection, b"x") for connection in connections] == [b"x"] * 5
        for connection in connections:
            connection.close()


def _is_refused(proxy: FlakyProxy) -> bool:
    # The reset may come before or after the connection is there.
    try:
        with _connect(proxy) as connection:
            return _is_closed(connection)
    except OSError:
        return True


def _is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
