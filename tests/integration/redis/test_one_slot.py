"""No command of ours is about keys of two slots, whatever a topic is called: no server ever has to say CROSSSLOT."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest
import redis
from tests.integration.redis.steps import append, bounds, history

from tailrace import InvalidArgumentError, spi
from tailrace.backends.redis import RedisStore
from tailrace.backends.redis.slots import one_by_one
from tailrace.backends.redis.wire import Wire
from tailrace.options import StoreOptions, parse_url
from tailrace.retention import Retention
from tailrace.testing.servers.redis import RedisCluster, RedisServer, RespError

AWKWARD = ["a", "{", "}", "{}", "}{", "{a}", "{a}b{c}", "}a{b}", "%7D", "%", "a}:i", "a}:s", "ä{ö}", "t:{a}:i", "*?[}]"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as cluster:
        yield cluster


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Everything that is sent from now on."""
    found: list[bytes] = []
    send = Wire.send

    def noted(self: Wire, data: bytes, deadline: float) -> None:
        found.append(data)
        send(self, data, deadline)

    monkeypatch.setattr(Wire, "send", noted)
    return found


def use_all(store: RedisStore) -> None:
    """Do everything that a store can do, to every topic in turn and to all at once."""
    with closing(store.watch()) as watch:
        watch.follow(AWKWARD, ())
        outcomes = store.append([spi.Entry(topic, [b"0", b"1"]) for topic in AWKWARD], 10.0)
        assert all(isinstance(outcome, spi.Appended) for outcome in outcomes)
        for topic in AWKWARD:
            append(store, topic, *[b"x"] * 40)
            assert history(store, topic)
            store.trim(topic, Retention(max_records=4))
        starts = [spi.ReadRequest(topic, bounds(store, topic).beginning, 10, 100) for topic in AWKWARD]
        assert all(isinstance(outcome, spi.Page) for outcome in store.read(starts))
        assert sorted(info.name for info in store.topics()) == sorted(AWKWARD)
        store.sweep(spi.SweepBudget())
        store.examine()
        for topic in AWKWARD:
            store.seal(topic, None)
            assert store.delete(topic)
        watch.follow((), AWKWARD)


def keys_of(server: RedisServer, command: Sequence[bytes]) -> list[bytes]:
    """Return which keys a command is about, as a server sees it."""
    try:
        found = server.call("COMMAND", "GETKEYS", *command)
    except RespError:
        return []
    assert isinstance(found, list)
    return [key for key in found if isinstance(key, bytes)]


def test_a_cluster_takes_every_command_for_every_topic(cluster: RedisCluster, sent: list[bytes]) -> None:
    url = f"{cluster.url}/?prefix=t-{secrets.token_hex(4)}"
    options = StoreOptions(retention=Retention(max_records=16, max_age=60, max_bytes=1000))
    store = spi.open_store(parse_url(url), options)
    assert isinstance(store, RedisStore)
    with closing(store):
        use_all(store)

    commands = {command for data in sent for command in one_by_one(data)}
    with_keys = {command[0]: keys for command in commands if (keys := keys_of(cluster.nodes[0], command))}
    assert {b"EVALSHA", b"HMGET", b"XRANGE"} <= with_keys.keys()
    assert any(len(keys) > 1 for keys in with_keys.values())
    for command in commands:
        slots = {cluster.slot_of(key) for key in keys_of(cluster.nodes[0], command)}
        assert len(slots) <= 1, command


@pytest.mark.parametrize("prefix", ["{app}", "a{", "}b", "a{b}c"])
def test_a_prefix_that_would_put_all_topics_into_one_slot_or_split_them_is_refused(prefix: str) -> None:
    client = redis.Redis(port=9)
    with pytest.raises(InvalidArgumentError, match=r"must not hold a brace, .* slots"):
        RedisStore(client, prefix=prefix)
    with pytest.raises(InvalidArgumentError, match=r"must not hold a brace, .* slots"):
        spi.open_store(parse_url(f"redis+cluster://127.0.0.1:9/?prefix={prefix}"), StoreOptions())
    client.close()
