"""Bytes that no client would send, to a real server: an answer of the table or a closed connection, never a 500."""

import asyncio
import json
import threading

import pytest
from tests.http.doors.raw import HOST, get, post, problems
from tests.http.doors.serving import PATIENCE, Served, drained, served

from tailrace.server import ServerSettings
from tailrace.server.connection import HEAD_TIMEOUT, LINGER, Connection

RECORDS = b"/v1/topics/t/records"

BROKEN = {
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "NUL in the path": get(b"/v1/topics/a\x00b"),
    "high bytes in the path": get(b"/v1/topics/\xff"),
    "space in the path": get(b"/v1/topics/a b"),
    "CR in a header": get(b"/healthz", b"x: a\rb"),
    "NUL in a header": get(b"/healthz", b"x: a\x00b"),
    "folded header": get(b"/healthz", b"x: a\r\n b"),
    "space before the colon": get(b"/healthz", b"x : a"),
    "no colon": get(b"/healthz", b"x"),
    "two lengths": post(RECORDS, b"content-length: 5", b"content-length: 6", body=b"hello"),
    "two equal lengths": post(RECORDS, b"content-length: 5", b"content-length: 5", body=b"hello"),
    "list of lengths": post(RECORDS, b"content-length: 5, 5", body=b"hello"),
    "negative length": post(RECORDS, b"content-length: -5", body=b"hello"),
    "hexadecimal length": post(RECORDS, b"content-length: 0x5", body=b"hello"),
    "length with a sign": post(RECORDS, b"content-length: +5", body=b"hello"),
    "length beyond numbers": post(RECORDS, b"content-length: " + b"9" * 5000, body=b"hello"),
    "length and chunks": post(
        RECORDS, b"content-length: 5", b"transfer-encoding: chunked", body=b"5\r\nhello\r\n0\r\n\r\n"
    ),
    "chunks twice removed": post(RECORDS, b"transfer-encoding: chunked, identity", body=b"0\r\n\r\n"),
    "chunk size nonsense": post(RECORDS, b"transfer-encoding: chunked", body=b"zz\r\nhello\r\n0\r\n\r\n"),
    "chunk size negative": post(RECORDS, b"transfer-encoding: chunked", body=b"-1\r\nhello\r\n0\r\n\r\n"),
    "chunk size beyond numbers": post(RECORDS, b"transfer-encoding: chunked", body=b"f" * 40 + b"\r\nhello\r\n"),
    "chunk longer than said": post(RECORDS, b"transfer-encoding: chunked", body=b"3\r\nhello\r\n0\r\n\r\n"),
    "CONNECT": b"CONNECT example.org:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "unknown method": b"FROB / HTTP/1.1\r\n" + HOST + b"\r\n",
    "HTTP/0.9": b"GET /\r\n\r\n",
    "HTTP/3": get(b"/", version=b"3.0"),
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("request_", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_request_is_told_so_and_cut(server: Served, request_: bytes) -> None:
    answer = server.ask(request_)

    # Of the oldest protocol only the missing host is noticed.
    assert set(problems(answer)) <= {"bad-request", "bad-host"}
    assert nothing_was_stored(server)


def nothing_was_stored(server: Served) -> bool:
    return problems(server.ask(get(b"/v1/topics/t"))) == ["no-topic"]


NAMES = {
    b"%2F": "no-topic",
    b"a%2Fb": "no-topic",
    b"%2e%2e": "no-topic",
    b"..": "no-topic",
    b"%2e%2e%2fetc": "no-topic",
    b"a+b": "no-topic",
    b"%20": "no-topic",
    b"%0d%0a": "no-topic",
    b"%25": "no-topic",
    b"%": "no-topic",
    b"%zz": "no-topic",
    b"a;b": "no-topic",
    b"%E2%80%A8": "no-topic",
    b"a" * 512: "no-topic",
    b"": "bad-topic",
    b"%00": "bad-topic",
    b"a%00b": "bad-topic",
    b"%ff": "bad-topic",
    b"%c0%af": "bad-topic",
    b"%e0%80%af": "bad-topic",
    b"%ed%a0%80": "bad-topic",
    b"%f5%80%80%80": "bad-topic",
    b"a" * 513: "bad-topic",
    b"a/b": "not-found",
    b"a/records/": "not-found",
    b"a//records": "not-found",
    b"../healthz": "not-found",
    b"a/%72ecords": "not-found",
    b"a/records?start=tail&start=tail": "bad-request",
    b"a/records?start=%ff": "bad-request",
    b"a/records?start=%00": "bad-request",
    b"a/records?start=beginning%0d%0aset-cookie:x": "bad-request",
    b"a/records?wat=1": "bad-request",
    b"a/records?limit=1e9&start=tail": "bad-request",
    b"a/records?limit=" + b"9" * 5000 + b"&start=tail": "bad-request",
    b"a/records?limit=%C2%B2&start=tail": "bad-request",
    b"a/records?wait=nan&start=tail": "bad-request",
    b"a/records?wait=-1&start=tail": "bad-request",
    b"a/records?wait=1e400&start=tail": "bad-request",
    b"a/records?wait=1_0&start=tail": "bad-request",
    b"a/records?wait=%201&start=tail": "bad-request",
    b"a/records?limit=0&start=tail": "bad-request",
    b"a/records?cursor=": "bad-token",
    b"a/records?cursor=%00": "bad-token",
    b"a/records?cursor=" + b"A" * 112: "bad-token",
    b"a/events?cursor=x%0d%0aid:%20y": "bad-token",
    b"a/records?" + b"&".join(b"a%d=1" % n for n in range(40)): "bad-request",
    b"a/records?" + b"a" * 9000: "uri-too-long",
    b"a" * 9000: "uri-too-long",
}


@pytest.mark.parametrize(("name", "problem"), NAMES.items(), ids=[name.decode()[:30] for name in NAMES])
def test_a_name_is_one_segment_decoded_once_or_refused(server: Served, name: bytes, problem: str) -> None:
    assert problems(server.ask(get(b"/v1/topics/" + name))) == [problem]


def test_a_name_that_looks_like_a_path_is_a_name(server: Served) -> None:
    for name in (b"..%2F..%2Fhealthz", b"%2Fv1%2Ftickets", b"%252F", b"x%2Frecords"):
        path = b"/v1/topics/" + name
        assert problems(server.ask(post(path + b"/records", b"content-length: 2", body=b"hi"))) == ["204"]
        described = server.ask(get(path))
        assert json.loads(described.partition(b"\r\n\r\n")[2])["records"] == 1


def test_a_target_may_be_absolute_and_its_host_decides_nothing(server: Served) -> None:
    assert problems(server.ask(get(b"http://evil.example/healthz"))) == ["200"]
    assert problems(server.ask(get(b"http://evil.example"))) in (["bad-request"], ["not-found"])
    assert problems(server.ask(b"OPTIONS * HTTP/1.1\r\n" + HOST + b"connection: close\r\n\r\n")) in (
        ["bad-request"],
        ["not-found"],
    )


def test_heads_that_are_too_large_are_refused_also_if_they_never_end(server: Served) -> None:
    assert problems(server.ask(get(b"/healthz", b"x: " + b"a" * 17_000))) == ["headers-too-large"]
    assert problems(server.ask(get(b"/healthz", *[b"x%d: a" % n for n in range(200)]))) == ["headers-too-large"]
    endless = b"GET /healthz HTTP/1.1\r\n" + HOST
    # The server closes while it is still being sent to, so the answer may be lost with the connection.
    assert set(problems(server.ask(endless + b"x: " + b"a" * 3_000_000))) <= {"headers-too-large"}
    assert set(problems(server.ask(b"GET /" + b"a" * 3_000_000))) <= {"uri-too-long"}
    assert problems(server.ask(get(b"/v1/topics/a/events", b"last-event-id: " + b"A" * 15_000))) == ["bad-token"]
    assert problems(server.ask(get(b"/v1/topics/a/events", b"last-event-id: \xff\xfe"))) == ["bad-token"]


def test_old_and_pipelining_clients_are_answered_in_order(server: Served) -> None:
    assert problems(server.ask(b"GET /healthz HTTP/1.0\r\n" + HOST + b"\r\n")) == ["200"]
    together = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    together += b"GET /v1/topics/none HTTP/1.1\r\n" + HOST + b"\r\n"
    assert problems(server.ask(together + get(b"/nothing"))) == ["200", "no-topic", "not-found"]


def test_rubbish_after_a_request_does_not_reach_its_answer(server: Served) -> None:
    answer = server.ask(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\nrubbish\r\n\r\n")

    assert problems(answer) in (["200", "bad-request"], ["bad-request"], ["200"])


def test_an_upgrade_is_not_taken_up(server: Served) -> None:
    upgrade = get(b"/healthz", b"upgrade: websocket", b"sec-websocket-version: 13", b"sec-websocket-key: AAAA")
    answer = server.ask(upgrade.replace(b"connection: close", b"connection: upgrade, close"))

    assert problems(answer) == ["200"]


@pytest.mark.parametrize("kind", [b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data", b"\xff"])
def test_json_is_taken_from_nothing_that_a_form_can_send(server: Served, kind: bytes) -> None:
    body = b'{"error": "x"}'
    length = b"content-length: %d" % len(body)

    answer = server.ask(post(b"/v1/topics/t/seal", length, b"content-type: " + kind, body=body))

    assert problems(answer) == ["unsupported-type"]
    assert nothing_was_stored(server)


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"1", b'"x"', b"\xff", b'{"error": 1}', b'{"a": 1}', b"[" * 20_000, b"\x00"]
)
@pytest.mark.parametrize("path", [b"/v1/topics/t/seal", b"/v1/topics/t/checkpoint", b"/v1/tickets"])
def test_a_body_that_is_not_as_described_is_a_bad_request(server: Served, path: bytes, body: bytes) -> None:
    answer = server.ask(post(path, b"content-length: %d" % len(body), b"content-type: application/json", body=body))

    assert problems(answer) == ["bad-request"]
    assert nothing_was_stored(server)


def test_a_body_over_the_limit_is_refused_before_it_is_read(server: Served) -> None:
    answer = server.ask(post(RECORDS, b"content-length: 999999999999", body=b"x"))

    assert problems(answer) == ["too-large"]
    assert nothing_was_stored(server)


class Seen:
    """Every connection of the server, with what it was sent counted, so that no test has to guess what has arrived."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._received: dict[Connection, int] = {}

    def note(self, connection: Connection, size: int) -> None:
        """Remember what came, after the server has looked at it."""
        with self._changed:
            self._received[connection] = self._received.get(connection, 0) + size
            self._changed.notify_all()

    def that_got(self, size: int) -> Connection:
        """Return the newest connection once it has received so many bytes."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._newest()[1] == size, PATIENCE)
            return self._newest()[0]

    def _newest(self) -> tuple[Connection | None, int]:
        return list(self._received.items())[-1] if self._received else (None, -1)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    seen = Seen()
    made, received = Connection.connection_made, Connection.data_received

    def connection_made(self: Connection, transport: asyncio.Transport) -> None:
        made(self, transport)
        seen.note(self, 0)

    def data_received(self: Connection, data: bytes) -> None:
        received(self, data)
        seen.note(self, len(data))

    monkeypatch.setattr(Connection, "connection_made", connection_made)
    monkeypatch.setattr(Connection, "data_received", data_received)
    return seen


def timer_of(connection: Connection, *, expire: bool = False) -> float | None:
    """Return how many seconds a connection has been given, as its event loop sees it; let them be over if told to."""

    async def look() -> float | None:
        timer = connection._timer
        if timer is None:
            return None
        if expire:
            timer.cancel()
            connection._expired()
        return timer.when() - connection.loop.time()

    return asyncio.run_coroutine_threadsafe(look(), connection.loop).result(PATIENCE)


def test_who_still_sends_what_is_too_large_gets_to_read_that_and_may_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "linger", PATIENCE)
    with served(settings=ServerSettings(max_body=10)) as server, server.connect() as client:
        client.sendall(
            b"POST " + RECORDS + b" HTTP/1.1\r\n" + HOST + b"content-length: 400000\r\n\r\n" + b"x" * 100_000
        )
        answer = client.recv(65536)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"connection: close" not in answer
        client.sendall(b"x" * 300_000 + b"GET /healthz HTTP/1.1\r\n" + HOST + b"connection: close\r\n\r\n")
        rest = drained(client)

    assert b"HTTP/1.1 200 " in rest


HALF = b"GET /healthz HTTP/1.1\r\nhost: loc"
WHOLE = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"


@pytest.mark.parametrize(
    ("sent", "answers"),
    [(b"", []), (b"\r\n", []), (HALF, ["too-slow"]), (WHOLE + HALF, ["200", "too-slow"])],
    ids=["nothing", "an empty line", "half a head", "half a second head"],
)
def test_who_does_not_end_a_head_in_time_is_cut_off(
    seen: Seen, server: Served, sent: bytes, answers: list[str]
) -> None:
    with server.connect() as client:
        client.sendall(sent)
        connection = seen.that_got(len(sent))
        first = client.recv(65536) if "200" in answers else b""
        given = timer_of(connection, expire=True)
        assert given is not None
        assert given < HEAD_TIMEOUT + 1

        assert problems(first + drained(client)) == answers


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (b"content-length: 5", b""),
        (b"content-length: 5", b"he"),
        (b"transfer-encoding: chunked", b""),
        (b"transfer-encoding: chunked", b"5\r\nhe"),
    ],
)
def test_who_does_not_end_a_body_in_time_is_told(header: bytes, body: bytes) -> None:
    with served(settings=ServerSettings(body_timeout=0.1)) as server:
        assert problems(server.ask(post(RECORDS, header, body=body))) == ["too-slow"]
        assert nothing_was_stored(server)


def test_a_body_that_nobody_reads_is_not_waited_for(seen: Seen, server: Served) -> None:
    sent = b"POST /nothing HTTP/1.1\r\n" + HOST + b"content-length: 5\r\n\r\nhe"
    with server.connect() as client:
        client.sendall(sent)
        answer = client.recv(65536)
        given = timer_of(seen.that_got(len(sent)), expire=True)
        assert given is not None
        assert given < LINGER + 1

        assert problems(answer + drained(client)) == ["not-found"]


def test_a_body_that_comes_after_its_answer_leaves_the_connection_usable(seen: Seen, server: Served) -> None:
    head = b"POST /nothing HTTP/1.1\r\n" + HOST + b"content-length: 5\r\n\r\n"
    with server.connect() as client:
        client.sendall(head)
        answer = client.recv(65536)
        client.sendall(b"hello")
        assert timer_of(seen.that_got(len(head) + 5)) is None
        client.sendall(get(b"/healthz"))

        assert problems(answer + drained(client)) == ["not-found", "200"]


@pytest.mark.parametrize(
    ("head", "rest"),
    [(b"GET /healthz HTTP/1.1\r\n", b"\r\n"), (b"POST /nothing HTTP/1.1\r\ncontent-length: 5\r\n", b"hello")],
    ids=["an empty line", "a body"],
)
def test_what_comes_after_an_answer_does_not_keep_a_connection_for_ever(
    seen: Seen, server: Served, head: bytes, rest: bytes
) -> None:
    request = head + HOST + b"\r\n"
    with server.connect() as client:
        client.sendall(request)
        assert client.recv(65536)
        client.sendall(rest)
        connection = seen.that_got(len(request) + len(rest))

        idle = connection.timeout_keep_alive_task
        assert idle is not None
        assert not idle.cancelled()


def test_a_stream_is_not_cut_by_the_time_for_heads(seen: Seen, server: Served) -> None:
    request = b"GET /v1/topics/t/events?start=beginning HTTP/1.1\r\n" + HOST + b"\r\n"
    with server.connect() as reader:
        reader.sendall(request)
        connection = seen.that_got(len(request))
        assert reader.recv(65536)

        assert timer_of(connection) is None
