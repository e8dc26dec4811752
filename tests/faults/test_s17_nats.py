"""S17: topics of one physical stream share nothing, least of all a memory of what was published before."""

import secrets
from collections.abc import Iterator

import pytest

import tailrace
from tailrace.testing.reading import read_all
from tailrace.testing.servers.nats import NatsServer


@pytest.fixture(scope="module")
def server() -> Iterator[NatsServer]:
    with NatsServer() as server:
        yield server


@pytest.fixture
def stream() -> str:
    return f"t{secrets.token_hex(4)}"


def test_the_same_bytes_on_two_topics_of_one_stream_are_both_stored(server: NatsServer, stream: str) -> None:
    with tailrace.connect(server.url(stream=stream), create=True) as streams:
        for name in ("a", "b"):
            streams.topic(name).append(b"same")
        for name in ("a", "b"):
            assert read_all(streams.topic(name).subscribe_from_beginning(), 1) == [b"same"]


def test_the_same_bytes_again_are_another_record_within_and_after_the_servers_window(
    server: NatsServer, stream: str
) -> None:
    with tailrace.connect(server.url(stream=stream), create=True) as streams:
        topic = streams.topic("t")
        topic.append_many([b"same"] * 3)
        topic.append(b"same")
        config = server.call(f"STREAM.INFO.{stream}")["config"]
        # The shortest that the server takes.
        server.call(f"STREAM.UPDATE.{stream}", **{**config, "duplicate_window": 10**8})
        topic.append(b"same")
        assert read_all(topic.subscribe_from_beginning(), 5) == [b"same"] * 5


def test_no_message_of_ours_has_an_identity_that_the_server_would_remember(server: NatsServer, stream: str) -> None:
    with tailrace.connect(server.url(stream=stream), create=True) as streams:
        streams.topic("t").append(b"x")
        message = server.call(f"STREAM.MSG.GET.{stream}", seq=1)["message"]
    assert "Nats-Msg-Id" not in message.get("hdrs", "")
