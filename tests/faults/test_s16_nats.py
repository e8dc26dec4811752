"""S16: what the server removes by limits of its own is told, and a server that stays away is never an end."""

import secrets
import time
from collections.abc import Iterator

import pytest

import tailrace
from tailrace import StreamClient, spi
from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError
from tailrace.options import EngineOptions, StoreOptions, parse_url
from tailrace.records import CLOSED
from tailrace.testing.reading import drain, numbered, payloads, read_until_lost, take
from tailrace.testing.servers.nats import NatsServer


@pytest.fixture(scope="module")
def server() -> Iterator[NatsServer]:
    with NatsServer() as server:
        yield server


@pytest.fixture(params=["shared", "dedicated"])
def url(request: pytest.FixtureRequest, server: NatsServer) -> str:
    """A store that is there, with one topic in it."""
    url = server.url(stream=f"t{secrets.token_hex(4)}", layout=request.param)
    with tailrace.connect(url, create=True) as streams:
        streams.topic("t").append(b"first")
    return url


def one_by_one(topic: tailrace.Topic, payload: bytes) -> tailrace.TopicCursor:
    """Append a message of its own; return the place behind it."""
    topic.append(payload)
    return topic.checkpoint()


def limit(server: NatsServer, url: str, **limits: int) -> None:
    """Set limits of the stream that holds the topic, as an operator may."""
    name = url.partition("stream=")[2].partition("&")[0]
    (stream,) = [
        found
        for found in server.streams()
        if name in found and server.call(f"STREAM.INFO.{found}")["state"]["messages"] and not found.startswith("KV_")
    ]
    config = server.call(f"STREAM.INFO.{stream}")["config"]
    server.call(f"STREAM.UPDATE.{stream}", **{**config, **limits, "discard": "old"})


def test_what_the_servers_own_limit_removed_is_told_to_who_was_before_it(server: NatsServer, url: str) -> None:
    with tailrace.connect(url) as streams:
        topic = streams.topic("t")
        cursors = [one_by_one(topic, payload) for payload in numbered(10)]
        limit(server, url, max_msgs=3)
        for early in cursors[:5]:
            with pytest.raises(CursorUnavailableError):
                topic.subscribe_from_cursor(early).__enter__()
        with topic.subscribe_from_cursor(cursors[8]) as late:
            assert payloads(take(late, 1)) == numbered(1, 9)


def test_a_live_reader_that_fell_behind_the_servers_own_limit_is_told(server: NatsServer, url: str) -> None:
    limit(server, url, max_msgs=3)
    store = spi.open_store(parse_url(url), StoreOptions())
    small = EngineOptions(buffer_records=1, page_records=1)
    with StreamClient(store, options=small) as streams, tailrace.connect(url) as writing:
        with streams.topic("t").subscribe_from_beginning() as slow:
            take(slow, 1)
            for payload in numbered(20):
                writing.topic("t").append(payload)
            found = read_until_lost(slow)
            assert found == numbered(len(found))


def test_what_the_server_may_remove_is_said_by_a_store_in_one_stream(server: NatsServer) -> None:
    url = server.url(stream=f"t{secrets.token_hex(4)}")
    with tailrace.connect(url, create=True) as streams:
        streams.topic("t").append(b"x")
        assert streams.capabilities.gap_detection == "exact"
    limit(server, url, max_age=10**9 * 3600)
    with tailrace.connect(url) as streams:
        assert streams.capabilities.gap_detection == "conservative"
        assert "max_age" in " ".join(streams.capabilities.notes)


def test_a_seal_outlives_what_the_server_removed(server: NatsServer, url: str) -> None:
    with tailrace.connect(url) as streams:
        topic = streams.topic("t")
        topic.seal(error="over")
        limit(server, url, max_age=10**8, duplicate_window=10**8)
        # By the server's clock: it looks for what is too old about once a second.
        deadline = time.monotonic() + 20
        while any(
            server.call(f"STREAM.INFO.{name}")["state"]["messages"]
            for name in server.streams()
            if url.partition("stream=")[2].partition("&")[0] in name and not name.startswith("KV_")
        ):
            assert time.monotonic() < deadline
            time.sleep(0.1)
    with tailrace.connect(url) as streams:
        topic = streams.topic("t")
        with pytest.raises(tailrace.TopicSealedError):
            topic.append(b"late")
        with topic.subscribe_from_beginning() as subscription:
            assert drain(subscription) == []
        assert subscription.end is not None
        assert subscription.end.error == "over"


def test_a_server_that_stays_away_is_told_as_such_and_never_as_the_end() -> None:
    with NatsServer() as server:
        with tailrace.connect(server.url(), create=True, outage_budget=1.5) as streams:
            topic = streams.topic("t")
            topic.append(b"x")
            with topic.subscribe_from_tail() as subscription:
                assert subscription.receive(timeout=0.05) is None
                server.kill()
                told: object = None
                deadline = time.monotonic() + 30
                while told is None and time.monotonic() < deadline:
                    try:
                        assert subscription.receive(timeout=0.1) is None
                    except DurableStreamUnavailableError as error:
                        told = error
                assert told is not None
                assert subscription.receive(timeout=0) is CLOSED
