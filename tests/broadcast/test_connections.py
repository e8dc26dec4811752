"""How many connections there are, what goes over them, and how broken and silent ones are told."""

import threading
from collections.abc import Iterator

import pytest
import redis
from tests.broadcast.commands import commands
from tests.broadcast.places import FORMS

from tailrace import broadcast
from tailrace.broadcast import BroadcastUnavailableError
from tailrace.errors import InvalidArgumentError
from tailrace.testing.broadcast.listening import failure, hear, silence, until
from tailrace.testing.servers.redis import RedisServer, flavour

every_form = pytest.mark.parametrize("form", FORMS)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def raw(server: RedisServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        yield client


@every_form
def test_a_process_listens_over_one_connection_with_one_thread(
    server: RedisServer, raw: redis.Redis, form: str
) -> None:
    def listening() -> list[dict[str, str]]:
        return [client for client in raw.client_list() if client["cmd"].startswith(("subscribe", "ssubscribe"))]

    before = set(threading.enumerate())
    with broadcast.connect(f"{server.url}?mode={form}") as channel:
        subscriptions = [channel.topic(f"t{number % 40}").subscribe() for number in range(200)]
        for subscription in subscriptions:
            subscription.__enter__()
        assert len(listening()) == 1
        ours = set(threading.enumerate()) - before
        assert len(ours) == 1
        assert channel.stats()["subscriptions"] == 200
        channel.topic("t7").publish(b"x")
        for subscription in subscriptions[7::40]:
            assert hear(subscription, 1) == [b"x"]
    until(lambda: not listening() and not any(thread.is_alive() for thread in ours), "both are gone")


@pytest.mark.parametrize(("form", "verb"), [("pubsub", ""), ("sharded", "S")])
def test_what_goes_over_the_wire(server: RedisServer, raw: redis.Redis, form: str, verb: str) -> None:
    with broadcast.connect(f"{server.url}?mode={form}") as channel, raw.monitor() as monitor:
        with channel.topic("t").subscribe() as subscription:
            channel.topic("t").publish(b"x")
            assert hear(subscription, 1) == [b"x"]
        until(lambda: not raw.pubsub_channels() + raw.pubsub_shardchannels(), "it is left")
        seen = commands(raw, monitor)
    ours = [command for command in seen if "tailrace" in command]
    assert ours == [
        f"{verb}SUBSCRIBE tailrace:{{t}}:b",
        f"{verb}PUBLISH tailrace:{{t}}:b x",
        f"{verb}UNSUBSCRIBE tailrace:{{t}}:b",
    ]


@every_form
def test_a_connection_that_the_server_ends_is_told(server: RedisServer, raw: redis.Redis, form: str) -> None:
    with broadcast.connect(f"{server.url}?mode={form}") as channel:
        topic = channel.topic("t")
        with topic.subscribe() as subscription:
            raw.client_kill_filter(_type="pubsub")
            heard, error = failure(subscription)
            assert heard == []
            assert isinstance(error, BroadcastUnavailableError)
        with topic.subscribe() as subscription:
            topic.publish(b"again")
            assert hear(subscription, 1) == [b"again"]


@every_form
def test_a_channel_that_a_user_may_not_have_is_told_and_others_go_on(form: str) -> None:
    acl = ["user some on >secret ~* &tailrace:{mine}* +@all"]
    with RedisServer(acl=acl) as server:
        with broadcast.connect(f"{server.url_for('some', 'secret')}?mode={form}") as channel:
            with channel.topic("mine").subscribe() as subscription:
                with pytest.raises(BroadcastUnavailableError, match="NOPERM"):
                    channel.topic("theirs").subscribe().__enter__()
                channel.topic("mine").publish(b"x")
                assert hear(subscription, 1) == [b"x"]


@pytest.mark.long
@every_form
def test_a_server_that_hangs_is_told_without_anybody_publishing(form: str) -> None:
    with RedisServer() as server, broadcast.connect(f"{server.url}?mode={form}") as channel:
        with channel.topic("t").subscribe() as subscription:
            server.freeze()
            try:
                assert isinstance(failure(subscription)[1], BroadcastUnavailableError)
            finally:
                server.thaw()


@every_form
def test_a_server_that_restarts_is_told_and_found_again(form: str) -> None:
    with RedisServer(aof="always") as server, broadcast.connect(f"{server.url}?mode={form}") as channel:
        topic = channel.topic("t")
        with topic.subscribe() as subscription:
            server.restart()
            failure(subscription)
        with topic.subscribe() as subscription:
            topic.publish(b"again")
            assert hear(subscription, 1) == [b"again"]


def test_an_old_server_is_refused_for_sharded_channels() -> None:
    with RedisServer(flavour("redis-6.2")) as server:
        with pytest.raises(BroadcastUnavailableError, match="Redis 7 or newer"):
            broadcast.connect(f"{server.url}?mode=sharded")


def test_databases_do_not_hear_each_other_though_channels_are_the_servers(server: RedisServer) -> None:
    with broadcast.connect(server.url) as channel, broadcast.connect(server.url_for(database=1)) as elsewhere:
        with channel.topic("t").subscribe() as subscription, elsewhere.topic("t").subscribe() as theirs:
            elsewhere.topic("t").publish(b"one")
            channel.topic("t").publish(b"zero")
            assert hear(theirs, 1) == [b"one"]
            assert hear(subscription, 1) == [b"zero"]


@every_form
def test_prefixes_do_not_hear_each_other(server: RedisServer, form: str) -> None:
    urls = [f"{server.url}?mode={form}&prefix={prefix}" for prefix in ("one", "two")]
    with broadcast.connect(urls[0]) as one, broadcast.connect(urls[1]) as two:
        with one.topic("t").subscribe() as subscription, two.topic("t").subscribe() as theirs:
            two.topic("t").publish(b"two")
            one.topic("t").publish(b"one")
            assert hear(theirs, 1) == [b"two"]
            assert hear(subscription, 1) == [b"one"]
            silence(subscription)
            silence(theirs)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://localhost/0?mode=queue", "mode must be one of pubsub, sharded, streams"),
        ("redis://localhost/0?mode=pubsub&keep=5", "keep is no setting"),
        ("redis://localhost/0?mode=streams&keep=none", "keep must be a number"),
        ("redis://localhost/0?mode=streams&keep=0", "keep must be from 1"),
        ("redis://localhost/0?mode=streams&keep_for=-1", "keep_for must be above 0"),
        ("redis://localhost/0?wait_replicas=1", "wait_replicas is no setting"),
        ("redis://localhost/0?moode=streams", "no setting called moode"),
        ("sqlite:///x.db", "carries no live messages"),
        ("nobody://x", "no store for nobody"),
        ("memory://?mode=pubsub", "no setting called mode"),
    ],
)
def test_a_url_that_can_not_be_used_is_refused_without_a_server(url: str, says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says):
        broadcast.connect(url)
