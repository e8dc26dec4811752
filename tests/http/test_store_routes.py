"""The bulk routes: who may use them, what a request that makes no sense is told, and what a store that hangs costs."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.http.server import LocalServer

import tailrace
from tailrace import spi, wire
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError, TopicSealedError
from tailrace.server import Action, Grant, Principal
from tailrace.server.principals import Gate
from tailrace.testing.faults import FaultyBackend, Stall
from tailrace.testing.leaks import no_leaks
from tailrace.testing.reading import PATIENCE, Background, numbered, payloads, read_all, take
from tailrace.testing.servers.waiting import until

POSTS = [path.decode() for path in wire.PATHS if path != wire.PATHS.describe]


class Door(Gate):
    """Lets everybody in as one principal, which a test sets."""

    def __init__(self) -> None:
        self.principal = Principal("test", (Grant(Action.ADMIN),), trusted=True)

    def admit(self, request: object) -> Principal:
        return self.principal


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.fixture
def guarded(serve: Callable[..., LocalServer], door: Door) -> LocalServer:
    """A server on a memory store behind that door."""
    server = serve("memory://")
    server.application._gate = door
    return server


@pytest.fixture
def http(guarded: LocalServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=guarded.url, trust_env=False) as client:
        yield client


def kind(response: httpx.Response) -> str:
    assert response.headers["content-type"] == "application/problem+json"
    return str(response.json()["type"]).removeprefix("urn:tailrace:problem:")


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("body", [b"", b"{}", b"null", b"[]", b"\xff", b"[" * 5000, b"\0" * 8, b"\xff" * 8, b'"text"'])
def test_a_body_that_makes_no_sense_is_told_so(http: httpx.Client, path: str, body: bytes) -> None:
    response = http.post(path, content=body)
    assert (response.status_code, kind(response)) == (400, "bad-request")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(POSTS), body=st.binary(max_size=80), framed=st.booleans())
def test_no_body_whatever_is_the_servers_fault(http: httpx.Client, path: str, body: bytes, framed: bool) -> None:
    content = wire.frame({"timeout": 1, "entries": [[str(body), [len(body)], True]]}, [body]) if framed else body
    assert http.post(path, content=content).status_code in (200, 400)


def test_an_append_whose_lengths_lie_stores_nothing(http: httpx.Client, guarded: LocalServer) -> None:
    for lengths in ([2], [0], [1, 1], [-1], [10**30], [True], []):
        body = wire.frame({"timeout": 1, "entries": [["t", lengths, True]]}, [b"x"])
        assert http.post("/v1/store/append", content=body).status_code == 400
    assert isinstance(guarded.application.service.backend.bounds("t"), spi.Unborn)


@pytest.mark.parametrize("path", [path.decode() for path in wire.PATHS])
def test_who_is_not_trusted_has_no_business_here(http: httpx.Client, door: Door, path: str) -> None:
    door.principal = Principal("browser", (Grant(Action.ADMIN),))
    response = http.get(path) if path == wire.PATHS.describe.decode() else http.post(path, content=b"{}")
    assert (response.status_code, kind(response)) == (403, "forbidden")


def test_each_topic_is_checked_and_the_others_go_on(guarded: LocalServer, door: Door) -> None:
    with tailrace.connect(guarded.url) as streams:
        streams.topic("yours").append(b"0")
        door.principal = Principal("test", (Grant(Action.APPEND, "mine"), Grant(Action.READ, "mine")), trusted=True)
        backend = streams._engine.backend
        mine, yours = backend.append([spi.Entry("mine", [b"1"]), spi.Entry("yours", [b"2"])], 5.0)
        assert isinstance(mine, spi.Appended)
        assert isinstance(yours, spi.AppendRefused)
        assert isinstance(yours.error, StoreUnusableError)
        start = spi.Unborn(2**60, 0)
        asked = [spi.ReadRequest(name, start, 5, 5) for name in ("yours", "mine", "yours")]
        outcomes = backend.read(asked)
        assert [type(outcome) for outcome in outcomes] == [spi.ReadFailed, spi.Page, spi.ReadFailed]
        with streams.topic("mine").subscribe_from_tail() as subscription:
            assert subscription.receive(timeout=0.05) is None
            streams.topic("mine").append(b"3")
            assert payloads(take(subscription, 1)) == [b"3"]
        for forbidden in (lambda: streams.topic("mine").seal(), lambda: streams.topic("yours").checkpoint()):
            with pytest.raises(StoreUnusableError, match="does not allow"):
                forbidden()
        for operation in (lambda: streams.maintenance.topics(), lambda: streams.maintenance.delete("mine")):
            with pytest.raises(StoreUnusableError, match="does not allow"):
                operation()
        with pytest.raises(StoreUnusableError, match="does not allow"):
            streams.maintenance.sweep()


def test_types_of_refusals_survive_the_way(guarded: LocalServer) -> None:
    with tailrace.connect(guarded.url) as streams:
        streams.topic("t").append(b"x")
        streams.topic("t").seal(error="over")
        with pytest.raises(TopicSealedError):
            streams.topic("t").append(b"y")
        with streams.topic("t").subscribe_from_beginning() as subscription:
            take(subscription, 1)
            assert subscription.receive(timeout=PATIENCE) is tailrace.CLOSED
            assert subscription.end is not None
            assert (subscription.end.kind, subscription.end.error) == ("failed", "over")


def test_appends_of_many_clients_share_commits(guarded: LocalServer) -> None:
    clients = [tailrace.connect(guarded.url) for _ in range(4)]
    backend = guarded.application.service.backend
    entries = [spi.Entry(f"t{number}", [b"x"]) for number in range(50)]
    before = guarded.application.service.engine.stats()["append_batches"]
    for client in clients:
        outcomes = client._engine.backend.append(entries, 5.0)
        assert all(isinstance(outcome, spi.Appended) for outcome in outcomes)
        client.close()
    # A commit for each of fifty entries would be two hundred.
    after = guarded.application.service.engine.stats()["append_batches"]
    assert (after or 0) - (before or 0) <= 40
    assert all(isinstance(backend.bounds(entry.topic), spi.Bounds) for entry in entries)


def test_a_large_answer_comes_in_pieces(guarded: LocalServer) -> None:
    with tailrace.connect(guarded.url) as streams:
        names = [f"t{number}" for number in range(12)]
        for name in names:
            streams.topic(name).append_many([bytes([65 + len(name)]) * 2**20] * 2)
        backend = streams._engine.backend
        start = spi.Unborn(2**60, 0)
        outcomes = backend.read([spi.ReadRequest(name, start, 10, 4 * 2**20) for name in names])
        assert [len(page.records) for page in outcomes if isinstance(page, spi.Page)] == [2] * 12


def test_what_is_too_large_for_one_request_is_refused_and_a_batch_of_it_is_cut(
    serve: Callable[..., LocalServer],
) -> None:
    server = serve("memory://", settings={"max_body": 2**20})
    with tailrace.connect(server.url) as streams:
        assert streams.capabilities.max_payload < 2**20
        with pytest.raises(tailrace.PayloadTooLargeError):
            streams.topic("t").append(b"x" * 2**20)
        backend = streams._engine.backend
        half = b"x" * 2**19
        outcomes = backend.append([spi.Entry("t", [half]), spi.Entry("t", [half]), spi.Entry("t", [half] * 3)], 5.0)
        assert [type(outcome) for outcome in outcomes] == [spi.Appended, spi.Appended, spi.AppendRefused]


def test_streams_of_hints_are_bounded_and_whoever_gets_none_reads_all_the_same(
    serve: Callable[..., LocalServer],
) -> None:
    server = serve("memory://", settings={"max_streams": 1})
    with tailrace.connect(server.url) as first, tailrace.connect(server.url) as second:
        with first.topic("t").subscribe_from_tail() as one, second.topic("t").subscribe_from_tail() as other:
            readers = [Background(lambda each=each: payloads(take(each, 3))) for each in (one, other)]  # type: ignore[misc]
            for payload in numbered(3):
                first.topic("t").append(payload)
            assert [reader.result() for reader in readers] == [numbered(3)] * 2


def test_a_store_that_hangs_stops_neither_health_checks_nor_appends(
    serve: Callable[..., LocalServer], http: httpx.Client, guarded: LocalServer
) -> None:
    faulty = FaultyBackend(guarded.application.service.backend)
    stall = Stall()
    faulty.always("read", stall)
    guarded.application.service.backend = faulty
    with tailrace.connect(guarded.url, append_timeout=2.0) as streams:
        topic = streams.topic("t")
        topic.append(b"x")
        body = wire.requests_to([spi.ReadRequest("t", spi.Unborn(2**60, 0), 1, 1)])
        waiting = [Background(lambda: http.post("/v1/store/read", content=body).status_code) for _ in range(40)]
        assert stall.reached.wait(PATIENCE)
        assert http.get("/healthz").status_code == 200
        topic.append(b"y")
        stall.release()
        assert {each.result() for each in waiting} == {200}


def test_clients_that_vanish_leave_no_stream_and_no_thread(guarded: LocalServer) -> None:
    body = wire.topics_to(["t"])
    request = b"POST /v1/store/watch HTTP/1.1\r\nhost: h\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    live = guarded.application.service.live

    def stream() -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", guarded.port), timeout=PATIENCE)
        sock.sendall(request)
        return sock

    with stream() as first:
        # The server follows from now on.
        assert b"200 OK" in first.recv(4096)
    with no_leaks(pooled_files=4):
        socks = [stream() for _ in range(30)]
        for sock in socks[:15]:
            # Its first line confirms; the others vanish before it.
            assert b"200 OK" in sock.recv(4096)
        for sock in socks:
            sock.close()
    until(lambda: guarded.call(lambda: live.count) == 0, "no stream is left")


def test_the_server_that_drains_ends_streams_for_their_clients_to_come_back(guarded: LocalServer) -> None:
    with tailrace.connect(guarded.url) as streams:
        with streams.topic("t").subscribe_from_tail() as subscription:
            assert subscription.receive(timeout=0.05) is None
            guarded.call(guarded.application.drain)
            streams.topic("t").append(b"x")
            assert payloads(take(subscription, 1)) == [b"x"]


def test_one_stream_of_hints_carries_all_topics_of_a_client(guarded: LocalServer) -> None:
    with tailrace.connect(guarded.url) as streams:
        entered = [streams.topic(f"t{number}").subscribe_from_tail().__enter__() for number in range(40)]
        assert all(each.receive(timeout=0.02) is None for each in entered)
        assert guarded.call(lambda: guarded.application.service.live.count) <= 4
        for number in range(40):
            streams.topic(f"t{number}").append(b"x")
        assert [payloads(take(each, 1)) for each in entered] == [[b"x"]] * 40
        for each in entered:
            each.close()


def test_a_client_of_a_closed_server_is_refused_and_not_left_waiting(serve: Callable[..., LocalServer]) -> None:
    server = serve("memory://")
    streams = tailrace.connect(server.url)
    server.close()
    with streams, pytest.raises(DurableStreamUnavailableError) as caught:
        streams.topic("t").append(b"x")
    assert caught.value.maybe_stored is False


def test_a_path_in_front_is_kept(serve: Callable[..., LocalServer]) -> None:
    def below(application: Any) -> Any:
        async def call(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                assert scope["path"].startswith("/streams/")
                scope = {**scope, "root_path": "/streams"}
            await application(scope, receive, send)

        return call

    server = serve("memory://", around=below)
    with tailrace.connect(f"{server.url}/streams/") as streams:
        streams.topic("t").append_many(numbered(3))
        assert read_all(streams.topic("t").subscribe_from_beginning(), 3) == numbered(3)
