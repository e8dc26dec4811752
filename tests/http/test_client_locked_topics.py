"""A topic that an application's transaction holds locked in the served store delays no other topic of a client."""

from collections.abc import Callable, Iterator

import pytest
from tests.http.server import LocalServer
from tests.postgres_server import postgres_server

import tailrace
from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.reading import Background, read_all
from tailrace.testing.servers.postgres import PostgresServer


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        tailrace.connect(server.url(), create=True).close()
        yield server


def test_a_topic_that_is_locked_delays_no_other_and_is_stored_once_it_is_free(
    postgres: PostgresServer, serve: Callable[..., LocalServer]
) -> None:
    server = serve(postgres.url())
    with tailrace.connect(server.url) as streams, tailrace.connect(postgres.url()) as beside:
        for name in ("locked", "free"):
            streams.topic(name).append(b"0")
        with postgres.connect() as connection:
            with connection.transaction():
                beside.topic("locked").append_in(connection, [b"1"])
                waiting = Background(lambda: streams.topic("locked").append(b"2"))
                for _ in range(20):
                    streams.topic("free").append(b"x")
                assert waiting.running
        waiting.result()
        assert read_all(streams.topic("locked").subscribe_from_beginning(), 3) == [b"0", b"1", b"2"]


@pytest.mark.long
def test_who_waits_too_long_for_a_locked_topic_hears_that_nothing_was_stored(
    postgres: PostgresServer, serve: Callable[..., LocalServer]
) -> None:
    server = serve(postgres.url())
    with (
        tailrace.connect(server.url, append_timeout=5.0) as streams,
        tailrace.connect(postgres.url()) as beside,
        postgres.connect() as connection,
    ):
        with connection.transaction():
            beside.topic("held").append_in(connection, [b"1"])
            with pytest.raises(DurableStreamUnavailableError) as caught:
                streams.topic("held").append(b"2")
        assert caught.value.maybe_stored is False
        assert read_all(streams.topic("held").subscribe_from_beginning(), 1) == [b"1"]
