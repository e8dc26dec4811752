"""What can be wrong with a server, its streams, its rights or a URL is told in a sentence; nothing is half-written."""

import socket
import threading
from collections.abc import Iterator

import pytest
from tests.integration.nats.stores import contents, created, opened, refused, stored

import tailrace
from tailrace import StreamClient, spi
from tailrace.errors import (
    DurableStreamUnavailableError,
    InvalidArgumentError,
    PayloadTooLargeError,
    StoreUnusableError,
)
from tailrace.options import EngineOptions, StoreOptions, parse_url
from tailrace.testing.servers.nats import NatsServer, flavour


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("localhost/?nonsense=1", "no setting called nonsense"),
        ("localhost/?layout=mixed", "layout must be"),
        ("localhost/?replicas=0", "replicas"),
        ("localhost/?replicas=many", "replicas"),
        ("localhost/?stream=a.b", "stream"),
        ("localhost/?stream=a%20b", "stream"),
        ("localhost/?stream=a%3E", "stream"),
        ("localhost/?stream=", "stream"),
        ("localhost:99999/", "nats://"),
        ("localhost:0/", "nats://"),
        ("localhost/?creds=/no/such/file", "/no/such/file"),
        ("localhost/?tls_ca=/no/such/file", "/no/such/file"),
    ],
)
def test_a_url_that_can_not_be_used_is_refused_before_anything_is_sent(place: str, said: str) -> None:
    with pytest.raises((InvalidArgumentError, StoreUnusableError), match=said):
        opened(f"nats://{place}")


def test_a_server_that_is_not_there_is_away() -> None:
    with pytest.raises(DurableStreamUnavailableError, match=r"127\.0\.0\.1:9") as caught:
        opened("nats://127.0.0.1:9")
    assert not isinstance(caught.value, StoreUnusableError)


def test_a_server_that_speaks_something_else_is_told() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def talk() -> None:
        peer, _ = listener.accept()
        peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        peer.close()

    thread = threading.Thread(target=talk)
    thread.start()
    with pytest.raises(DurableStreamUnavailableError):
        opened(f"nats://127.0.0.1:{listener.getsockname()[1]}", append_timeout=3.0)
    thread.join()
    listener.close()


def test_a_server_without_jetstream_is_told_with_the_setting() -> None:
    with NatsServer(jetstream=False) as plain, pytest.raises(StoreUnusableError, match=r"JetStream.*jetstream"):
        opened(plain.url())


def test_an_account_without_jetstream_is_told() -> None:
    accounts = {
        "accounts": {
            "with": {"jetstream": "enabled", "users": [{"user": "a", "password": "a"}]},
            "without": {"users": [{"user": "b", "password": "b"}]},
        }
    }
    with NatsServer(settings=accounts) as server:
        address = f"127.0.0.1:{server.port}"
        created(f"nats://a:a@{address}")
        with pytest.raises(StoreUnusableError, match=r"JetStream.*account"):
            opened(f"nats://b:b@{address}")


def test_without_streams_the_store_is_refused_and_stays_so_unless_they_may_be_made(
    server: NatsServer, url: str
) -> None:
    for _ in range(2):
        with pytest.raises(StoreUnusableError, match="tailrace migrate"):
            opened(url, create=False)
    assert server.streams() == []
    created(url)
    with opened(url, create=False) as store:
        stored(store, "t", b"x")


@pytest.mark.parametrize(("first", "second"), [("shared", "dedicated"), ("dedicated", "shared")])
def test_a_store_of_the_other_layout_is_refused_and_left_alone(
    server: NatsServer, stream: str, first: str, second: str
) -> None:
    url = server.url(stream=stream, layout=first)
    with opened(url) as store:
        stored(store, "t", b"x")
    before = server.streams()
    for create in (False, True):
        with pytest.raises(StoreUnusableError, match=f"layout={first}"):
            opened(server.url(stream=stream, layout=second), create=create)
    assert server.streams() == before
    with opened(url) as store:
        assert contents(store, "t") == [b"x"]


def test_a_stream_of_somebody_else_under_our_name_is_refused_and_left_alone(
    server: NatsServer, stream: str, url: str
) -> None:
    server.call(f"STREAM.CREATE.{stream}", name=stream, subjects=[f"orders.{stream}"], storage="file")
    before = server.call(f"STREAM.INFO.{stream}")["config"]
    for create in (False, True):
        with pytest.raises(StoreUnusableError, match=stream):
            opened(url, create=create)
    assert server.call(f"STREAM.INFO.{stream}")["config"] == before


def test_a_stream_whose_subjects_overlap_is_told(server: NatsServer, stream: str, url: str) -> None:
    theirs = f"greedy-{stream}"
    server.call(f"STREAM.CREATE.{theirs}", name=theirs, subjects=[f"{stream}.>"], storage="file")
    with pytest.raises(StoreUnusableError, match=r"subjects.*overlap"):
        opened(url)


def test_two_streams_on_one_server_are_two_stores(server: NatsServer, stream: str) -> None:
    with opened(server.url(stream=f"{stream}a")) as first, opened(server.url(stream=f"{stream}b")) as second:
        stored(first, "t", b"first")
        stored(second, "t", b"second")
        assert contents(first, "t") == [b"first"]
        assert contents(second, "t") == [b"second"]


def test_replicas_on_a_server_that_is_alone_are_refused_by_name(server: NatsServer, stream: str) -> None:
    with pytest.raises(StoreUnusableError, match="replicas"):
        opened(server.url(stream=stream, replicas="3"))
    assert server.streams() == []


def test_replicas_on_a_server_that_is_too_old_are_refused_with_the_version_that_is_needed() -> None:
    with NatsServer(flavour("nats-2.9")) as old:
        with pytest.raises(StoreUnusableError, match="replicas") as caught:
            opened(old.url(replicas="3"))
        assert old.flavour.name.removeprefix("nats-") in str(caught.value)
        assert "2.11" in str(caught.value)
        assert old.streams() == []


@pytest.fixture(scope="module")
def guarded() -> Iterator[NatsServer]:
    """A server with users."""
    users = {"operator": "p/w @:", "mute": "m", "deaf": "d", "outsider": "o"}
    permissions = {
        "mute": {"publish": {"deny": ["events.>"]}},
        "outsider": {"publish": {"deny": ["$JS.API.>"]}},
        "deaf": {"subscribe": {"deny": ["events.>"]}},
    }
    with NatsServer(users=users, permissions=permissions) as server:
        created(server.url(stream="events"))
        yield server


def _as(server: NatsServer, login: str) -> str:
    return f"nats://{login}127.0.0.1:{server.port}/?stream=events"


@pytest.mark.parametrize("login", ["", "operator:wrong@", "nobody:secret@", "token@"])
def test_who_is_not_let_in_is_told_so_without_the_secret(guarded: NatsServer, login: str) -> None:
    with pytest.raises(StoreUnusableError, match="password") as caught:
        opened(_as(guarded, login), create=False, append_timeout=3.0)
    assert "wrong" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_publish_that_is_forbidden_is_refused_at_once_and_its_subject_is_named(guarded: NatsServer) -> None:
    with opened(_as(guarded, "mute:m@"), create=False) as store:
        error = refused(store, "t")
        assert isinstance(error, StoreUnusableError)
        assert "publish" in str(error)
        assert "events." in str(error)
        with pytest.raises(StoreUnusableError, match="events"):
            store.seal("t", None)
        assert isinstance(store.bounds("t"), spi.Unborn)


def test_who_may_not_ask_jetstream_is_told_which_subject(guarded: NatsServer) -> None:
    with pytest.raises(StoreUnusableError, match=r"\$JS\.API"):
        opened(_as(guarded, "outsider:o@"), create=False, append_timeout=3.0)


def test_hints_that_may_not_be_heard_are_told_once_and_cost_latency_only(
    guarded: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    with tailrace.connect(guarded.url(stream="events")) as writing:
        with StreamClient(_store(_as(guarded, "deaf:d@")), options=EngineOptions(poll_unsure=0.1)) as streams:
            with streams.topic("heard").subscribe_from_tail() as subscription:
                writing.topic("heard").append(b"x")
                record = subscription.receive(timeout=20)
                assert isinstance(record, tailrace.DurableStreamRecord)
                assert record.payload == b"x"


def _store(url: str) -> spi.Backend:
    return spi.open_store(parse_url(url), StoreOptions())


def test_a_payload_over_the_servers_limit_is_refused_before_it_is_sent_and_the_setting_is_named() -> None:
    with NatsServer(settings={"max_payload": 2**16}) as small:
        with tailrace.connect(small.url(), create=True) as streams:
            topic = streams.topic("t")
            largest = streams.capabilities.max_payload
            assert 2**16 - 2**13 < largest < 2**16
            with pytest.raises(PayloadTooLargeError, match="max_payload"):
                topic.append(bytes(largest + 1))
            topic.append(b"before")
            topic.append(b"x" * largest)
            topic.append_many([b"y" * largest, b"", b"z" * largest])
            with topic.subscribe_from_beginning() as subscription:
                found = [subscription.receive(timeout=5) for _ in range(5)]
        sizes = [len(record.payload) for record in found if isinstance(record, tailrace.DurableStreamRecord)]
        assert sizes == [6, largest, largest, 0, largest]


@pytest.mark.parametrize("limit", ["max_file", "max_bytes"])
def test_a_store_that_is_full_refuses_names_the_setting_and_goes_on_when_there_is_room(limit: str) -> None:
    jetstream = {"max_file": 2**21} if limit == "max_file" else True
    with NatsServer(jetstream=jetstream) as server:
        with opened(server.url(stream="events")) as store:
            if limit == "max_bytes":
                config = server.call("STREAM.INFO.events")["config"]
                server.call("STREAM.UPDATE.events", **{**config, "max_bytes": 2**21})
            stored(store, "t", b"first")
            error: DurableStreamUnavailableError | None = None
            acknowledged = 1
            for number in range(40):
                (outcome,) = store.append([spi.Entry("t", [b"%d" % number + bytes(200_000)])], 5.0)
                if isinstance(outcome, spi.AppendRefused):
                    error = outcome.error
                    break
                assert isinstance(outcome, spi.Appended)
                acknowledged += 1
            assert isinstance(error, StoreUnusableError)
            assert limit in str(error)
            assert len(contents(store, "t")) == acknowledged
            if limit == "max_bytes":
                server.call("STREAM.UPDATE.events", **{**config, "max_bytes": -1})
                stored(store, "t", b"there is room")
                assert contents(store, "t")[-1] == b"there is room"


def test_messages_of_somebody_else_on_our_subjects_are_told_and_not_delivered(
    server: NatsServer, stream: str, url: str
) -> None:
    with opened(url) as store:
        beginning = spi.Boundary(stored(store, "t", b"a").end.incarnation, 0, 0)
        subjects = server.call(f"STREAM.INFO.{stream}", subjects_filter=">")["state"]["subjects"]
        (subject,) = subjects
        with server.connect() as connection:
            connection.request(subject, b"not one of ours")
        (outcome,) = store.read([spi.ReadRequest("t", beginning, 10, 100)])
        assert isinstance(outcome, spi.ReadFailed), outcome
        assert isinstance(outcome.error, StoreUnusableError)
        assert isinstance(refused(store, "t"), StoreUnusableError)
        stored(store, "other", b"x")
