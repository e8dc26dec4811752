"""Channels that an application had before: raw code and `tailrace.broadcast` hear each other on them."""

from collections.abc import Iterator

import pytest
import redis
from tests.broadcast.commands import commands

from tailrace import broadcast
from tailrace.errors import InvalidArgumentError
from tailrace.testing.broadcast.listening import hear
from tailrace.testing.servers.redis import RedisServer

FORMS = pytest.mark.parametrize(("form", "verb"), [("pubsub", ""), ("sharded", "S")])


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def raw(server: RedisServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url) as client:
        yield client


def heard(pubsub: "redis.client.PubSub") -> object:
    message = pubsub.get_message(timeout=5)
    assert message is not None
    return message["data"]


@FORMS
def test_raw_code_and_a_channel_hear_each_other(server: RedisServer, raw: redis.Redis, form: str, verb: str) -> None:
    url = f"{server.url}?mode={form}&channel=events.{{}}"
    with broadcast.connect(url) as channel, raw.pubsub() as pubsub:
        getattr(pubsub, f"{verb.lower()}subscribe")("events.run:{42}")
        assert heard(pubsub) == 1
        topic = channel.topic("run:{42}")
        with topic.subscribe() as subscription:
            topic.publish(b"from here")
            assert (heard(pubsub), hear(subscription, 1)) == (b"from here", [b"from here"])
            getattr(raw, f"{verb.lower()}publish")("events.run:{42}", b"from there")
            assert (heard(pubsub), hear(subscription, 1)) == (b"from there", [b"from there"])


def test_only_that_name_goes_over_the_wire_in_any_database(server: RedisServer, raw: redis.Redis) -> None:
    url = f"{server.url.removesuffix('/0')}/3?channel={{}}"
    with broadcast.connect(url) as channel, raw.monitor() as monitor:
        channel.topic("run:42").publish(b"x")
        sent = [command for command in commands(raw, monitor) if "run:42" in command]
    assert sent == ["PUBLISH run:42 x"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("channel=events", "once"),
        ("channel={}.{}", "once"),
        ("channel={}&prefix=shop", "prefix"),
        ("mode=streams&channel={}", "mode streams"),
    ],
)
def test_names_that_could_not_hold_are_refused(server: RedisServer, settings: str, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        broadcast.connect(f"{server.url}?{settings}")
