"""The least rights that the documentation names are enough for each part, and no more than each needs."""

from collections.abc import Iterator
from contextlib import closing
from typing import Protocol

import pytest
import redis
from tests.integration.redis.conftest import OpenStore
from tests.integration.redis.steps import append, bounds, numbered, payloads, read

from tailrace import StoreUnusableError, spi
from tailrace.backends.redis import RedisStore
from tailrace.retention import Retention

READER = ["+hmget", "+xrange", "+xlen", "+time", "+subscribe", "+unsubscribe", "+ping"]
APPENDER = [
    "+evalsha",
    "+eval",
    "+hmget",
    "+exists",
    "+time",
    "+hset",
    "+hdel",
    "+xadd",
    "+xdel",
    "+persist",
    "+publish",
]
KEEPER = [*APPENDER, "+xrange", "+xlen", "+xtrim"]
OPERATOR = [*KEEPER, "+scan", "+unlink", "+del", "+pexpire"]


class User(Protocol):
    """What the fixture returns."""

    def __call__(self, *rules: str, **options: object) -> RedisStore: ...


@pytest.fixture
def user(server: str, raw: "redis.Redis", prefix: str, open_store: OpenStore) -> Iterator[User]:
    """Opens a store as a user with certain rights only."""
    clients: list[redis.Redis] = []

    def user(*rules: str, **options: object) -> RedisStore:
        name = f"user{len(clients)}"
        channels = ("resetchannels", f"&{prefix}:*")
        raw.execute_command("ACL", "SETUSER", name, "reset", "on", ">pw", f"~{prefix}:*", *channels, *rules)
        clients.append(redis.Redis.from_url(server, username=name, password="pw", protocol=2))
        return open_store(clients[-1], **options)

    yield user
    for client in clients:
        client.close()


def test_a_reader_reads_and_hears_and_changes_nothing(user: User, store: RedisStore) -> None:
    append(store, "t", *numbered(3))
    reader = user(*READER)
    with closing(reader.watch()) as watch:
        watch.follow({"t"}, ())
        assert payloads(read(reader, "t", bounds(reader, "t").beginning)) == numbered(3)
        assert isinstance(reader.bounds("other"), spi.Unborn)
        append(store, "t", b"x")
        assert watch.wait(5).topics == {"t"}
    (outcome,) = reader.append([spi.Entry("t", [b"x"])], 5.0)
    assert isinstance(outcome, spi.AppendRefused)
    with pytest.raises(StoreUnusableError):
        reader.seal("t", None)


def test_an_appender_appends_and_seals_and_does_not_read(user: User, store: RedisStore) -> None:
    appender = user(*APPENDER)
    append(appender, "t", b"1")
    store.delete("u")
    append(appender, "u", b"1", b"2")
    appender.seal("u", None)
    appender.seal("v", "broken")
    with pytest.raises(StoreUnusableError, match="xlen"):
        appender.bounds("t")
    assert bounds(store, "t").tail.position == 1


def test_an_appender_with_a_retention_keeps_it(user: User, store: RedisStore) -> None:
    keeper = user(*KEEPER, retention=Retention(max_records=2))
    for payload in numbered(5):
        append(keeper, "t", payload)
    assert payloads(read(store, "t", bounds(store, "t").beginning)) == numbered(2, 3)


def test_an_operator_operates(user: User, store: RedisStore) -> None:
    append(store, "t", *numbered(5))
    append(store, "u", b"x")
    operator = user(*OPERATOR, retention=Retention(max_records=4), forget_after=0.001)
    assert [info.name for info in operator.topics()] == ["t", "u"]
    assert operator.trim("t", Retention(max_records=4)) == 1
    assert operator.trim("u", Retention(max_records=0)) == 1
    assert operator.sweep(spi.SweepBudget()).forgotten == 1
    assert operator.delete("t") is True


@pytest.mark.parametrize("missing", ["+hmget", "+xrange", "+xlen", "+time"])
def test_each_right_of_a_reader_is_needed(user: User, store: RedisStore, missing: str) -> None:
    append(store, "t", b"x")
    reader = user(*(right for right in READER if right != missing))
    with pytest.raises(StoreUnusableError, match=missing[1:]):
        look(reader)


def look(reader: RedisStore) -> None:
    """Look at a topic in both ways; raise what either raises."""
    outcome = read(reader, "t", bounds(reader, "t").beginning)
    assert isinstance(outcome, spi.ReadFailed)
    raise outcome.error
