"""A server of both ways restarts: who is told, and that whoever has a place in the stream misses nothing there."""

import secrets
import time

import pytest
from tests.rollout.fixtures import Deploy, everything

from tailrace.broadcast import BroadcastUnavailableError
from tailrace.errors import DurableStreamUnavailableError
from tailrace.records import CLOSED
from tailrace.rollout import Phase, Producer, Subscription
from tailrace.testing.broadcast.listening import failure
from tailrace.testing.reading import PATIENCE
from tailrace.testing.servers.redis import RedisServer

pytestmark = pytest.mark.long


def _publish(topic: Producer, payload: bytes) -> None:
    """Publish once the server is there again: it takes nothing before that."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            topic.publish(payload)
        except (DurableStreamUnavailableError, BroadcastUnavailableError) as refused:
            if time.monotonic() > deadline or getattr(refused, "maybe_stored", False):
                raise
        else:
            return


def _hear(subscription: Subscription) -> bytes:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            event = subscription.receive(1)
        except DurableStreamUnavailableError:
            continue
        assert event is not CLOSED
        if isinstance(event, bytes):
            return event
    pytest.fail("nothing is heard")


@pytest.mark.parametrize("form", ["pubsub", "streams"])
def test_a_listener_at_the_stream_goes_on(deployment: Deploy, form: str) -> None:
    with RedisServer(aof="always") as server:
        with deployment(channel_url=f"{server.url}?mode={form}", store_url=server.url) as running:
            topic = running.process("p", Phase.READ_DURABLE).topic("t")
            with running.process("l", Phase.READ_DURABLE).topic("t").subscribe() as subscription:
                topic.publish(b"1")
                assert _hear(subscription) == b"1"
                server.restart()
                _publish(topic, b"2")
                assert _hear(subscription) == b"2"
                assert everything(subscription, 0) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Phase.WRITE_BOTH, Phase.WRITE_BOTH),
        (Phase.WRITE_BOTH, Phase.READ_DURABLE),
        (Phase.READ_DURABLE, Phase.WRITE_BOTH),
    ],
    ids=["at the channel", "to the stream", "to the channel"],
)
@pytest.mark.parametrize("form", ["pubsub", "streams"])
def test_a_listener_who_is_at_the_channel_as_well_is_told_and_subscribes_anew(
    deployment: Deploy, form: str, before: Phase, after: Phase
) -> None:
    prefix = secrets.token_hex(4)
    with RedisServer(aof="always") as server:
        url = f"{server.url}?prefix={prefix}"
        with deployment(channel_url=f"{url}&mode={form}", store_url=url) as running:
            topic = running.process("p", Phase.WRITE_BOTH).topic("t")
            listening = running.process("l", before).topic("t")
            with listening.subscribe() as subscription:
                running.at["l"] = after
                topic.publish(b"1")
                assert everything(subscription, 1) == [b"1"]
                server.restart()
                # A store that is away is told as often as it is asked, the channel's loss once.
                heard, error = _failure(subscription)
                assert isinstance(error, BroadcastUnavailableError)
                assert heard == []
            assert (subscription.cursor is None) == (before is after)
            _publish(topic, b"2")
            with listening.subscribe(after=subscription.cursor) as again:
                if before is after:
                    _publish(topic, b"3")
                assert _hear(again) == (b"3" if before is after else b"2")


def _failure(subscription: Subscription) -> tuple[list[bytes], Exception]:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return failure(subscription)
        except DurableStreamUnavailableError:
            assert time.monotonic() < deadline
