"""Live delivery over Redis Streams: where it starts, what is kept, and what is gone."""

from collections.abc import Iterator

import pytest
import redis
from tests.broadcast.commands import commands

from tailrace import broadcast
from tailrace.broadcast import BroadcastOverflowError, BroadcastUnavailableError, Overflow
from tailrace.testing.broadcast.listening import failure, hear, until
from tailrace.testing.reading import numbered
from tailrace.testing.servers.redis import RedisServer

STREAM = "tailrace:{t}:bs"


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def raw(server: RedisServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        yield client


@pytest.fixture
def url(server: RedisServer, raw: redis.Redis) -> str:
    return f"{server.url}?mode=streams"


def test_a_start_that_was_fixed_before_messages_were_trimmed_counts_them_as_dropped(url: str) -> None:
    # Streams are trimmed by whole nodes of a hundred entries.
    with broadcast.connect(f"{url}&keep=100", buffer_messages=2000) as channel:
        topic = channel.topic("t")
        topic.publish(b"before")
        subscription = topic.subscribe()
        for payload in numbered(1000):
            topic.publish(payload)
        with subscription:
            heard = hear(subscription, 100)
            heard += hear(subscription, 1000 - int(heard[-1]) - 1)
        assert subscription.dropped == 1000 - len(heard) > 0
        assert heard == numbered(len(heard), 1000 - len(heard))
        assert channel.stats()["dropped"] == subscription.dropped


def test_or_it_is_an_error(url: str) -> None:
    with broadcast.connect(f"{url}&keep=100", overflow=Overflow.ERROR) as channel:
        topic = channel.topic("t")
        subscription = topic.subscribe()
        for payload in numbered(400):
            topic.publish(payload)
        with subscription:
            heard, error = failure(subscription)
        assert heard == []
        assert isinstance(error, BroadcastOverflowError)


def test_a_topic_that_has_expired_and_begins_anew_loses_nothing(url: str, raw: redis.Redis) -> None:
    with broadcast.connect(url) as channel:
        topic = channel.topic("t")
        for payload in numbered(5):
            topic.publish(payload)
        with topic.subscribe() as live:
            prepared = topic.subscribe()
            raw.delete(STREAM)
            topic.publish(b"of another life")
            assert hear(live, 1) == [b"of another life"]
            with prepared:
                assert hear(prepared, 1) == [b"of another life"]
            assert live.dropped == prepared.dropped == 0


def test_it_is_never_read_from_the_beginning_nor_from_a_later_end(url: str, raw: redis.Redis) -> None:
    with broadcast.connect(url) as channel, raw.monitor() as monitor:
        topic = channel.topic("t")
        topic.publish(b"old")
        with topic.subscribe() as subscription:
            topic.publish(b"new")
            assert hear(subscription, 1) == [b"new"]
        seen = commands(raw, monitor)
    reads = [command for command in seen if command.startswith("XRANGE")]
    assert reads
    assert not [command for command in reads if " (0-0 " in command]
    assert not [command for command in seen if command.startswith("XREAD") or " $" in command]


def test_what_is_kept_is_bounded_in_number_and_time(url: str, raw: redis.Redis) -> None:
    with broadcast.connect(f"{url}&keep=100&keep_for=60") as channel:
        topic = channel.topic("t")
        for payload in numbered(500):
            topic.publish(payload)
        assert raw.xlen(STREAM) <= 200
        assert 0 < raw.pttl(STREAM) <= 60_000


def test_databases_do_not_hear_each_other(server: RedisServer, url: str) -> None:
    other = f"{server.url_for(database=1)}?mode=streams"
    with broadcast.connect(url) as channel, broadcast.connect(other) as elsewhere:
        with channel.topic("t").subscribe() as subscription, elsewhere.topic("t").subscribe() as theirs:
            channel.topic("t").publish(b"zero")
            elsewhere.topic("t").publish(b"one")
            assert hear(subscription, 1) == [b"zero"]
            assert hear(theirs, 1) == [b"one"]


def test_a_stream_of_somebody_else_is_refused(url: str, raw: redis.Redis) -> None:
    raw.xadd(STREAM, {"theirs": "x"})
    with broadcast.connect(url) as channel:
        with pytest.raises(BroadcastUnavailableError, match="somebody else"):
            channel.topic("t").subscribe()
        raw.delete(STREAM)
        with channel.topic("t").subscribe() as subscription:
            raw.xadd(STREAM, {"theirs": "x"})
            raw.publish("tailrace:{t}:bh", b"")
            assert "somebody else" in str(failure(subscription)[1])


def test_a_key_of_another_kind_is_refused(url: str, raw: redis.Redis) -> None:
    raw.set(STREAM, "x")
    with broadcast.connect(url) as channel:
        with pytest.raises(BroadcastUnavailableError, match="WRONGTYPE"):
            channel.topic("t").subscribe()
        with pytest.raises(BroadcastUnavailableError, match="WRONGTYPE"):
            channel.topic("t").publish(b"x")


def test_a_script_that_the_server_has_forgotten_is_sent_again(url: str, raw: redis.Redis) -> None:
    with broadcast.connect(url) as channel, channel.topic("t").subscribe() as subscription:
        for payload in numbered(3):
            raw.script_flush()
            channel.topic("t").publish(payload)
        assert hear(subscription, 3) == numbered(3)


def test_whoever_may_only_read_can_subscribe() -> None:
    acl = ["user listener on >secret ~tailrace:* &tailrace:* -@all +@read +subscribe +unsubscribe +hello +ping +select"]
    with RedisServer(acl=acl) as server:
        with broadcast.connect(f"{server.url}?mode=streams") as writing:
            with broadcast.connect(f"{server.url_for('listener', 'secret')}?mode=streams") as reading:
                writing.topic("t").publish(b"before")
                with reading.topic("t").subscribe() as subscription:
                    writing.topic("t").publish(b"x")
                    assert hear(subscription, 1) == [b"x"]
                with pytest.raises(BroadcastUnavailableError):
                    reading.topic("t").publish(b"x")


def test_a_place_is_put_back_for_one_and_nobody_else_hears_twice(url: str) -> None:
    with broadcast.connect(url) as channel:
        topic = channel.topic("t")
        early = topic.subscribe()
        with topic.subscribe() as live:
            for payload in numbered(600):
                topic.publish(payload)
            assert hear(live, 600) == numbered(600)
            with early:
                assert hear(early, 600) == numbered(600)
                topic.publish(b"on")
                assert hear(early, 1) == hear(live, 1) == [b"on"]
        until(lambda: channel.stats()["topics"] == 0, "it is left")
