"""What stands around requests on one connection: trailers, requests that wait for others, a client that stalls."""

import asyncio
import json
import logging
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.http.doors.raw import HOST, get, post, problems
from tests.http.doors.serving import PATIENCE, Served, drained, served

from tailrace.server import connection, stall
from tailrace.server.stall import Stall
from tailrace.testing.servers.waiting import until

RECORDS = b"/v1/topics/t/records"
CHUNKED = b"transfer-encoding: chunked"


def count(server: Served, topic: bytes) -> int:
    """Return how many records are in a topic."""
    answer = server.ask(get(b"/v1/topics/" + topic))
    return int(json.loads(answer.partition(b"\r\n\r\n")[2])["records"])


@pytest.mark.parametrize("trailer", [b"host: evil.example", b"x-forwarded-for: 192.0.2.1", b"origin: https://evil"])
def test_a_trailer_is_no_header(server: Served, trailer: bytes) -> None:
    path = b"/v1/topics/trailers/records"

    assert problems(server.ask(post(path, CHUNKED, body=b"2\r\nhi\r\n0\r\n" + trailer + b"\r\n\r\n"))) == ["204"]


FLOODS = {
    "trailers": b"2\r\nhi\r\n0\r\n" + b"a: b\r\n" * 500_000,
    "one trailer": b"2\r\nhi\r\n0\r\na: " + b"b" * 3_000_000,
    "the extension of a chunk": b"2;" + b"a" * 3_000_000,
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_what_never_ends_around_a_body_is_cut(server: Served, flood: bytes) -> None:
    # The server closes while it is still being sent to, so the answer may be lost with the connection.
    assert set(problems(server.ask(post(b"/v1/topics/flood/records", CHUNKED, body=flood)))) <= {"headers-too-large"}
    assert problems(server.ask(get(b"/v1/topics/flood"))) == ["no-topic"]


def test_a_body_in_the_smallest_chunks_is_taken_whole(server: Served) -> None:
    chunks = b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n"

    assert problems(server.ask(post(b"/v1/topics/chunks/records", CHUNKED, body=chunks))) == ["204"]
    assert count(server, b"chunks") == 1


def test_rubbish_behind_requests_is_no_answer_to_them(server: Served) -> None:
    append = b"POST " + b"/v1/topics/before/records" + b" HTTP/1.1\r\n" + HOST + b"content-length: 2\r\n\r\nhi"
    look = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"

    # Told "nothing was done", the client would send it once more.
    assert problems(server.ask(append + b"rubbish\r\n\r\n")) == ["204"]
    assert problems(server.ask(append + look + b"rubbish\r\n\r\n")) == ["204", "200"]
    assert problems(server.ask(append + post(RECORDS, CHUNKED, body=b"zz\r\n"))) == ["204"]
    assert count(server, b"before") == 3


def test_a_stream_with_a_request_behind_it_ends_with_its_client(caplog: pytest.LogCaptureFixture) -> None:
    stream = b"GET /v1/topics/queue/events?start=tail HTTP/1.1\r\n" + HOST + b"\r\n"
    look = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    append = post(b"/v1/topics/queue/records", b"content-length: 2", body=b"hi")
    with caplog.at_level(logging.WARNING), served() as server:
        live = server.application.service.live
        reader = server.connect()
        reader.sendall(stream + look)
        until(lambda: live.count == 1, "the stream has begun")
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        reader.close()

        # Nothing is read while a request waits: it is in writing that the server finds out.
        def is_over() -> bool:
            assert problems(server.ask(append)) == ["204"]
            return live.count == 0

        until(is_over, "the stream has ended", timeout=PATIENCE)
    assert not caplog.records


@contextmanager
def stalled(server: Served, path: bytes) -> Iterator[socket.socket]:
    """Ask for more than any buffer holds, and take nothing of it."""
    body = b"x" * 12_000_000
    stored = server.ask(post(b"/v1/topics/large/records", b"content-length: %d" % len(body), body=body))
    assert problems(stored) == ["204"]
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(PATIENCE)
        client.connect(("127.0.0.1", server.port))
        client.sendall(get(path + b"?start=beginning"))
        yield client


def test_a_client_that_takes_nothing_of_its_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "Stall", lambda: Stall(0.2))
    with served() as server, stalled(server, b"/v1/topics/large/records") as client:
        until(lambda: len(server.server.server_state.connections) == 1, "the server knows the client")
        until(lambda: not server.server.server_state.connections, "the server has cut it off", timeout=PATIENCE)

        assert len(drained(client)) < 12_000_000


def test_a_client_that_takes_nothing_does_not_keep_a_server_that_ends(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stall, "HURRY", 0.2)
    with caplog.at_level(logging.WARNING), served() as server, stalled(server, b"/v1/topics/large/events") as client:
        live = server.application.service.live
        until(lambda: live.count == 1, "the stream has begun")
        [line] = server.server.server_state.connections
        until(lambda: line.flow.write_paused, "the client takes nothing")
        server.drain()
        server.server.should_exit = True
        until(lambda: live.count == 0, "the stream has ended", timeout=PATIENCE)
        drained(client)
    # It was not cancelled, which is told.
    assert not caplog.records


class Slow(asyncio.WriteTransport):
    """A client that takes a little between two looks, and at last nothing."""

    def __init__(self, *left: int) -> None:
        self._left = list(left)
        self.aborted = asyncio.Event()

    def get_write_buffer_size(self) -> int:
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]

    def abort(self) -> None:
        assert len(self._left) == 1
        self.aborted.set()


def test_a_client_that_takes_a_little_is_given_time() -> None:
    async def scene() -> None:
        transport = Slow(100, 99, 99, 98, 98, 98)
        Stall(0.001).begin(transport)
        async with asyncio.timeout(PATIENCE):
            await transport.aborted.wait()

    asyncio.run(scene())
