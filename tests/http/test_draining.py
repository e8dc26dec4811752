"""Streams that end so that they can go on: a server that goes down, one that is full, a store that is away."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from signal import Signals

import pytest
from tests.http.reader import Reader, path_of
from tests.http.server import LocalServer, Replica

from tailrace.errors import InvalidArgumentError
from tailrace.server import ServerSettings
from tailrace.testing.servers.redis import RedisServer


def test_sigterm_ends_a_stream_cleanly_and_it_goes_on_elsewhere(replica: Callable[..., Replica], store: str) -> None:
    server, other = replica(), replica()
    with LocalServer(store) as writer:
        topic = writer.streams.topic("down")
        with Reader(server.port, path_of("down", start="tail")) as reader:
            reader.until(lambda seen: bool(seen.last_id))
            topic.append(b"before")
            reader.until_records(1)
            server._once_started.signal(Signals.SIGTERM)
            # The last chunk has come, so nobody takes this for a broken connection.
            reader.to_end()
        assert server._once_started.wait(10)
        assert reader.parser.blocks[-1] == ("retry", "id")
        # With an id for the same place, which is newer.
        assert reader.last_id != reader.events[-1].id
        topic.append(b"after")

        with Reader(other.port, path_of("down", start="tail"), reader.last_id) as resumed:
            assert resumed.until_records(1) == [b"after"]


def test_a_draining_server_sends_new_streams_away_for_a_while(server: LocalServer) -> None:
    server.call(server.application.drain)

    with Reader(server.port, path_of("late", start="tail")) as reader:
        reader.to_end()
    assert reader.response.status == 200
    assert reader.response.headers["content-type"].startswith("text/event-stream")
    assert reader.events == []
    assert reader.parser.retry is not None


def test_a_stream_is_recycled_and_goes_on(serve: Callable[..., LocalServer]) -> None:
    server = serve(settings={"recycle": 0.5})
    topic = server.streams.topic("recycled")
    topic.append(b"1")
    with Reader(server.port, path_of("recycled", start="beginning")) as reader:
        reader.to_end()
    assert reader.payloads == [b"1"]
    topic.append(b"2")

    with Reader(server.port, path_of("recycled", start="beginning"), reader.last_id) as reader:
        reader.to_end()
    assert reader.payloads == [b"2"]


@pytest.mark.parametrize("bound", ["max_streams", "max_streams_each"])
def test_one_too_many_is_asked_to_come_back(serve: Callable[..., LocalServer], bound: str) -> None:
    server = serve(settings={bound: 2})
    topic = server.streams.topic("full")
    with Reader(server.port, path_of("full", start="tail")) as first:
        first.until(lambda seen: bool(seen.last_id))
        with Reader(server.port, path_of("full", start="tail")) as second:
            second.until(lambda seen: bool(seen.last_id))
            topic.append(b"x")
            for last_id in (None, first.last_id):
                with Reader(server.port, path_of("full", start="tail"), last_id) as third:
                    third.to_end()
                assert third.response.status == 200
                assert third.events == []
                assert third.parser.retry is not None
                assert third.parser.retry >= 1000
        # A place is free once the server has noticed.
        last_id = first.last_id
        while True:
            with Reader(server.port, path_of("full", start="tail"), last_id) as again:
                again.until(lambda seen: seen.response.ended or bool(seen.payloads))
                if again.payloads:
                    break
    assert again.payloads == [b"x"]


def test_an_id_never_expires_under_a_stream(serve: Callable[..., LocalServer]) -> None:
    server = serve(settings={"token_lifetime": 2.0})
    topic = server.streams.topic("short")
    topic.append(b"1")
    last_id = None
    # Silence for several lifetimes: whenever the stream ends, the id that the reader has must be good for coming back.
    for _ in range(4):
        with Reader(server.port, path_of("short", start="beginning"), last_id) as reader:
            reader.to_end()
        assert reader.response.status == 200
        last_id = reader.last_id
    topic.append(b"2")

    with Reader(server.port, path_of("short", start="beginning"), last_id) as reader:
        assert reader.until_records(1) == [b"2"]


def test_who_is_sent_away_does_not_lose_its_id_to_the_clock(serve: Callable[..., LocalServer]) -> None:
    server = serve(settings={"token_lifetime": 2.0})
    topic = server.streams.topic("away")
    with Reader(server.port, path_of("away", start="tail")) as reader:
        reader.to_end()
    server.call(server.application.drain)
    # Away for longer than its id is good, and back every now and then, as it was told.
    first_id = last_id = reader.last_id
    for _ in range(6):
        with Reader(server.port, path_of("away", start="tail"), last_id) as reader:
            reader.until(lambda seen: seen.response.ended, timeout=10)
        assert reader.response.status == 200
        last_id = reader.last_id or last_id
        time.sleep(0.5)
    assert last_id != first_id
    topic.append(b"back")
    other = serve(settings={"token_lifetime": 2.0})

    with Reader(other.port, path_of("away", start="tail"), last_id) as reader:
        assert reader.until_records(1) == [b"back"]


def test_a_recent_event_is_not_sent_again_with_an_id_that_has_aged(serve: Callable[..., LocalServer]) -> None:
    server = serve(settings={"token_lifetime": 2.0, "recycle": 100.0})
    server.streams.topic("aged").append(b"x")
    with ExitStack() as stack:
        # One after the other, and always one before the last has ended: what they share is never dropped.
        for _ in range(6):
            reader = stack.enter_context(Reader(server.port, path_of("aged", start="beginning")))
            reader.until_records(1)
            time.sleep(0.5)
        last_id = reader.last_id
        # As long as a stream may be silent.
        reader.to_end()
        with Reader(server.port, path_of("aged", start="beginning"), last_id) as again:
            again.until(lambda seen: seen.response.status is not None)
            assert again.response.status == 200


def test_a_lifetime_that_is_no_longer_than_the_way_back_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="token_lifetime"):
        ServerSettings(token_lifetime=10.0, retry=2.0)


def test_the_store_away_in_mid_stream_and_back(
    serve: Callable[..., LocalServer],
) -> None:
    with RedisServer(aof="always") as redis:
        server = serve(redis.url, outage_budget=0.5)
        topic = server.streams.topic("outage")
        topic.append(b"1")
        with Reader(server.port, path_of("outage", start="beginning")) as reader:
            reader.until_records(1)
            redis.kill()
            reader.to_end()
        assert reader.parser.blocks[-1] == ("retry", "id")
        # A browser that is told anything but 200 stays away for good.
        with Reader(server.port, path_of("outage", start="beginning"), reader.last_id) as refused:
            refused.to_end()
        assert refused.response.status == 200
        assert refused.parser.retry is not None
        redis.start()
        topic.append(b"2")

        while True:
            with Reader(server.port, path_of("outage", start="beginning"), reader.last_id) as again:
                again.until(lambda seen: seen.response.ended or bool(seen.payloads))
                if again.payloads:
                    break
        assert again.payloads == [b"2"]
