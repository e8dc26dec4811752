"""A server that hangs: it takes connections and bytes, and answers nothing."""

import time
from collections.abc import Iterator

import pytest

import tailrace
from tailrace import CLOSED
from tailrace.testing.reading import Background, nothing
from tailrace.testing.servers.redis import RedisServer
from tailrace.testing.servers.waiting import until


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server
        server.thaw()


def test_closing_the_client_does_not_wait_for_it(server: RedisServer) -> None:
    streams = tailrace.connect(server.url)
    topic = streams.topic("t")
    topic.append(b"first")
    with topic.subscribe_from_tail() as subscription:
        nothing(subscription)
        server.freeze()
        appending = Background(lambda: error_of(topic))
        # With the connection that there is: another one could not be opened, and nothing would have been sent.
        until(lambda: bool(streams._engine.backend._nodes.connections._used), "an append that is under way")
        # As after an append of unknown outcome: the loop looks at the topic, and waits as well.
        streams._engine.hint("t")
        assert subscription.receive(0.1) is None
        waiting = Background(lambda: subscription.receive(30.0))

        began = time.monotonic()
        streams.close()

        assert time.monotonic() - began < 3.0
        assert waiting.result() is CLOSED
        assert appending.result().maybe_stored


def error_of(topic: tailrace.Topic) -> tailrace.DurableStreamUnavailableError:
    """Append; return why it is not certainly stored."""
    with pytest.raises(tailrace.DurableStreamUnavailableError) as told:
        topic.append(b"x")
    return told.value
