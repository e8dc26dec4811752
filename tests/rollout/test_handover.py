"""Handing a listener over: every event once and in order, whatever was on its way at that moment."""

import secrets
import threading
from collections.abc import Iterator

import pytest
import redis
from tests.rollout.fixtures import Deploy, Deployment, everything, listener_of, settled

from tailrace.broadcast import BroadcastUnavailableError
from tailrace.records import CLOSED, TopicCursor
from tailrace.rollout import Phase, Subscription
from tailrace.rollout.ways import Kept, KeptTopic
from tailrace.testing.broadcast.listening import failure, hear
from tailrace.testing.reading import PATIENCE, Background, numbered
from tailrace.testing.servers.redis import RedisServer

FOREVER, AT_ONCE = 3600.0, 0.05


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


def _to(running: Deployment, phase: Phase) -> None:
    running.at["l"] = phase


def test_to_the_stream_what_was_appended_before_and_is_published_later_arrives_once(deployment: Deploy) -> None:
    with deployment(overlap=FOREVER) as running:
        stream, channel = running.streams.topic("t"), running.channel.topic("t")
        with running.process("l", Phase.WRITE_BOTH).topic("t").subscribe() as subscription:
            stream.append(b"on its way")
            _to(running, Phase.READ_DURABLE)
            assert everything(subscription, 0) == []
            channel.publish(b"on its way")
            assert everything(subscription, 1) == [b"on its way"]


@pytest.mark.parametrize(
    ("before", "after"),
    [(Phase.WRITE_BOTH, Phase.READ_DURABLE), (Phase.READ_DURABLE, Phase.WRITE_BOTH)],
    ids=["to the stream", "to the channel"],
)
def test_what_comes_both_ways_arrives_once(before: Phase, after: Phase, deployment: Deploy) -> None:
    with deployment(overlap=FOREVER) as running:
        topic = running.process("p", before).topic("t")
        with running.process("l", before).topic("t").subscribe() as subscription:
            topic.publish(b"before")
            assert everything(subscription, 1) == [b"before"]
            _to(running, after)
            assert everything(subscription, 0) == []
            for payload in numbered(20):
                topic.publish(payload)
            assert everything(subscription, 20) == numbered(20)


def test_to_the_stream_equal_events_keep_their_number(deployment: Deploy) -> None:
    with deployment(overlap=FOREVER) as running:
        stream, channel = running.streams.topic("t"), running.channel.topic("t")
        with running.process("l", Phase.WRITE_BOTH).topic("t").subscribe() as subscription:
            stream.append(b"tick")
            _to(running, Phase.READ_DURABLE)
            assert everything(subscription, 0) == []
            stream.append(b"tick")
            stream.append(b"tick")
            for _ in range(3):
                channel.publish(b"tick")
            assert everything(subscription, 3) == [b"tick"] * 3


def test_to_the_stream_nothing_overtakes_what_its_producer_sent_before(deployment: Deploy) -> None:
    with deployment(overlap=FOREVER) as running:
        stream, channel = running.streams.topic("t"), running.channel.topic("t")
        with running.process("l", Phase.WRITE_BOTH).topic("t").subscribe() as subscription:
            stream.append(b"1")
            _to(running, Phase.READ_DURABLE)
            assert everything(subscription, 0) == []
            # Both are there before the listener looks.
            channel.publish(b"1")
            stream.append(b"2")
            channel.publish(b"2")
            assert everything(subscription, 2) == [b"1", b"2"]


def test_to_the_stream_and_afterwards_the_channel_is_left(deployment: Deploy) -> None:
    with deployment(overlap=AT_ONCE) as running:
        topic = running.process("p", Phase.READ_DURABLE).topic("t")
        with running.process("l", Phase.WRITE_BOTH).topic("t").subscribe() as subscription:
            _to(running, Phase.READ_DURABLE)
            assert settled(subscription) == []
            assert running.channel.stats()["subscriptions"] == 0
            running.at["p"] = Phase.DURABLE
            topic.publish(b"x")
            assert everything(subscription, 1) == [b"x"]
            assert subscription.cursor is not None


def test_to_the_channel_what_was_read_before_and_is_published_later_arrives_once(deployment: Deploy) -> None:
    with deployment(overlap=FOREVER) as running:
        stream, channel = running.streams.topic("t"), running.channel.topic("t")
        with running.process("l", Phase.READ_DURABLE).topic("t").subscribe() as subscription:
            stream.append(b"on its way")
            assert everything(subscription, 1) == [b"on its way"]
            _to(running, Phase.WRITE_BOTH)
            assert everything(subscription, 0) == []
            channel.publish(b"on its way")
            assert everything(subscription, 0) == []


def test_to_the_channel_what_was_read_at_the_end_and_is_published_after_it_arrives_once(deployment: Deploy) -> None:
    with deployment(overlap=AT_ONCE) as running:
        stream, channel = running.streams.topic("t"), running.channel.topic("t")
        topic = running.process("l", Phase.READ_DURABLE).topic("t")
        with topic.subscribe() as subscription:
            _to(running, Phase.WRITE_BOTH)
            assert subscription.receive(0) is None
            # It has begun, and is long over before what comes now is forgotten.
            listener_of(subscription)._overlap = FOREVER
            stream.append(b"on its way")
            assert settled(subscription) == [b"on its way"]
            channel.publish(b"on its way")
            channel.publish(b"next")
            assert everything(subscription, 1) == [b"next"]


def test_to_the_channel_what_nobody_publishes_any_more_hides_no_equal_event_for_ever(deployment: Deploy) -> None:
    with deployment(overlap=AT_ONCE) as running:
        stream, channel = running.streams.topic("t"), running.channel.topic("t")
        with running.process("l", Phase.READ_DURABLE).topic("t").subscribe() as subscription:
            stream.append(b"tick")
            _to(running, Phase.WRITE_BOTH)
            heard = settled(subscription)
            assert subscription.receive(2 * AT_ONCE) is None
            channel.publish(b"tick")
            assert heard + everything(subscription, 1) == [b"tick", b"tick"]


def test_there_and_back_again(deployment: Deploy) -> None:
    with deployment(overlap=AT_ONCE) as running:
        topic = running.process("p", Phase.WRITE_BOTH).topic("t")
        heard: list[bytes] = []
        with running.process("l", Phase.WRITE_BOTH).topic("t").subscribe() as subscription:
            for number, phase in enumerate([Phase.READ_DURABLE, Phase.WRITE_BOTH] * 3):
                topic.publish(b"%d" % number)
                _to(running, phase)
                heard += settled(subscription)
            heard += everything(subscription, 6 - len(heard))
        assert heard == numbered(6)


def test_turned_there_and_back_at_once_what_was_read_and_is_published_later_arrives_once(deployment: Deploy) -> None:
    with deployment(overlap=AT_ONCE) as running:
        stream, channel = running.streams.topic("t"), running.channel.topic("t")
        with running.process("l", Phase.READ_DURABLE).topic("t").subscribe() as subscription:
            stream.append(b"on its way")
            assert everything(subscription, 1) == [b"on its way"]
            stream.append(b"too")
            _to(running, Phase.WRITE_BOTH)
            assert subscription.receive(0) is None
            listener_of(subscription)._overlap = FOREVER
            assert settled(subscription) == [b"too"]
            _to(running, Phase.READ_DURABLE)
            assert everything(subscription, 0) == []
            assert subscription.at_both
            channel.publish(b"too")
            channel.publish(b"new")
            assert everything(subscription, 1) == [b"new"]


def test_a_channel_that_is_lost_on_the_way_is_told_after_what_was_there_and_can_be_resumed(
    deployment: Deploy, server: RedisServer
) -> None:
    prefix = secrets.token_hex(4)
    with deployment(channel_url=f"{server.url}?mode=pubsub&prefix={prefix}", overlap=FOREVER) as running:
        topic = running.process("p", Phase.READ_DURABLE).topic("t")
        listening = running.process("l", Phase.WRITE_BOTH).topic("t")
        with listening.subscribe() as subscription, redis.Redis.from_url(server.url) as raw:
            _to(running, Phase.READ_DURABLE)
            topic.publish(b"1")
            assert everything(subscription, 1) == [b"1"]
            topic.publish(b"2")
            raw.client_kill_filter(_type="pubsub")
            heard, error = failure(subscription)
            assert isinstance(error, BroadcastUnavailableError)
            assert heard in ([], [b"2"])
            assert subscription.receive(0) is CLOSED
        topic.publish(b"3")
        with listening.subscribe(after=subscription.cursor) as again:
            assert heard + everything(again, 3 - 1 - len(heard)) == [b"2", b"3"]


@pytest.mark.parametrize(
    ("before", "after"),
    [(Phase.WRITE_BOTH, Phase.READ_DURABLE), (Phase.READ_DURABLE, Phase.WRITE_BOTH)],
    ids=["to the stream", "to the channel"],
)
def test_a_channel_that_is_closed_on_the_way_ends_it_after_what_was_there(
    before: Phase, after: Phase, deployment: Deploy
) -> None:
    with deployment(overlap=FOREVER) as running:
        with running.process("l", before).topic("t").subscribe() as subscription:
            _to(running, after)
            assert everything(subscription, 0) == []
            running.process("p", Phase.WRITE_BOTH).topic("t").publish(b"1")
            running.channel.close()
            assert hear(subscription, 1) == [b"1"]
            assert subscription.receive(PATIENCE) is CLOSED


def test_an_earlier_listeners_place_is_gone_on_from_wherever_listeners_are_now(deployment: Deploy) -> None:
    with deployment(overlap=AT_ONCE) as running:
        topic = running.process("p", Phase.READ_DURABLE).topic("t")
        listening = running.process("l", Phase.READ_DURABLE).topic("t")
        with listening.subscribe() as subscription:
            topic.publish(b"1")
            assert everything(subscription, 1) == [b"1"]
        topic.publish(b"missed")
        _to(running, Phase.WRITE_BOTH)
        with listening.subscribe(after=subscription.cursor) as again:
            assert settled(again) == [b"missed"]
            topic.publish(b"live")
            assert everything(again, 1) == [b"live"]
            assert again.cursor is None


@pytest.mark.parametrize("phase", [Phase.WRITE_BOTH, Phase.READ_DURABLE], ids=lambda phase: phase.value)
@pytest.mark.parametrize("turned", [False, True], ids=["settled", "on its way"])
def test_close_from_another_thread_unblocks(phase: Phase, turned: bool, deployment: Deploy) -> None:
    with deployment(overlap=FOREVER) as running:
        with running.process("l", phase).topic("t").subscribe() as subscription:
            if turned:
                _to(running, Phase.READ_DURABLE if phase is Phase.WRITE_BOTH else Phase.WRITE_BOTH)
                assert everything(subscription, 0) == []
            waiting = Background(lambda: subscription.receive(PATIENCE))
            subscription.close()
            assert waiting.result() is CLOSED
        assert running.channel.stats()["subscriptions"] == 0


def test_closed_by_another_thread_just_as_it_comes_to_the_channel_it_says_so(deployment: Deploy) -> None:
    with deployment(overlap=FOREVER) as running:
        turned = threading.Event()

        def flag(_: str) -> Phase:
            if not turned.is_set():
                return Phase.READ_DURABLE
            subscription.close()
            return Phase.WRITE_BOTH

        with running.turned_by(flag).topic("t").subscribe() as subscription:
            turned.set()
            assert subscription.receive(0) is CLOSED
            assert subscription.receive(0) is CLOSED
        assert running.channel.stats()["subscriptions"] == 0


def test_closed_by_another_thread_just_as_it_comes_to_the_stream_it_says_so(deployment: Deploy) -> None:
    with deployment(overlap=AT_ONCE) as running:
        topic = running.process("l", Phase.WRITE_BOTH).topic("t")
        with topic.subscribe() as subscription:
            _to(running, Phase.READ_DURABLE)
            assert subscription.receive(0) is None
            assert subscription.at_both
            doors = listener_of(subscription)._doors
            doors._stream = _Closing(doors._stream, subscription)
            assert subscription.receive(PATIENCE) is CLOSED
        assert running.channel.stats()["subscriptions"] == 0


class _Closing:
    """Stands for a stream: its listener is closed while he is on his way there."""

    def __init__(self, stream: KeptTopic, subscription: Subscription) -> None:
        self._stream = stream
        self._subscription = subscription

    async def subscribe_from_cursor(self, cursor: TopicCursor) -> Kept:
        self._subscription.close()
        return await self._stream.subscribe_from_cursor(cursor)


def test_a_seal_ends_it(deployment: Deploy) -> None:
    with deployment() as running:
        with running.process("l", Phase.DURABLE).topic("t").subscribe() as subscription:
            running.streams.topic("t").append(b"last")
            running.streams.topic("t").seal()
            assert subscription.receive(5) == b"last"
            assert subscription.receive(5) is CLOSED
