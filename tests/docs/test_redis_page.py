"""The rights that the page on Redis shows are enough for each user, and for nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.blocks import blocks
from tests.docs.parts import each_does_its_part

import tailrace
from tailrace import Retention, StoreUnusableError
from tailrace.testing.reading import payloads, take
from tailrace.testing.servers.redis import RedisServer

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "redis.md"


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    page = PAGE.read_text(encoding="utf-8")
    (users,) = (block.body for block in blocks(page) if block.body.startswith("user reader"))
    with RedisServer(acl=users.splitlines()) as server:
        yield server


@pytest.fixture
def operator(server: RedisServer) -> Iterator[tailrace.StreamClient]:
    server.call("FLUSHALL")
    with tailrace.connect(server.url) as streams:
        yield streams


@pytest.fixture
def reader(server: RedisServer) -> Iterator[tailrace.StreamClient]:
    with tailrace.connect(server.url_for("reader", "secret1")) as streams:
        yield streams


@pytest.fixture
def appender(server: RedisServer) -> Iterator[tailrace.StreamClient]:
    with tailrace.connect(server.url_for("appender", "secret2")) as streams:
        yield streams


@pytest.fixture
def sweeper(server: RedisServer) -> Iterator[tailrace.StreamClient]:
    with tailrace.connect(server.url_for("sweeper", "secret3"), forget_after=0.001) as streams:
        yield streams


def test_each_does_its_part(
    operator: tailrace.StreamClient,
    reader: tailrace.StreamClient,
    appender: tailrace.StreamClient,
    sweeper: tailrace.StreamClient,
) -> None:
    each_does_its_part(operator, reader, appender, sweeper)


def test_a_reader_changes_nothing(operator: tailrace.StreamClient, reader: tailrace.StreamClient) -> None:
    operator.topic("t").append(b"x")
    topic, maintenance = reader.topic("t"), reader.maintenance
    with pytest.raises(StoreUnusableError, match="evalsha"):
        topic.append(b"y")
    with pytest.raises(StoreUnusableError, match="evalsha"):
        topic.seal()
    with pytest.raises(StoreUnusableError, match="evalsha"):
        maintenance.delete("t")
    with pytest.raises(StoreUnusableError, match="scan"):
        maintenance.topics()


def test_an_appender_neither_reads_nor_removes(
    operator: tailrace.StreamClient, appender: tailrace.StreamClient
) -> None:
    operator.topic("t").append(b"x")
    with pytest.raises(StoreUnusableError, match="xlen"):
        appender.topic("t").subscribe_from_beginning()
    with pytest.raises(StoreUnusableError, match="xrange"):
        appender.maintenance.trim("t", Retention(max_records=0))
    with pytest.raises(StoreUnusableError, match="unlink"):
        appender.maintenance.delete("t")
    with operator.topic("t").subscribe_from_beginning() as subscription:
        assert payloads(take(subscription, 1)) == [b"x"]


def test_a_sweeper_does_not_append(operator: tailrace.StreamClient, sweeper: tailrace.StreamClient) -> None:
    operator.topic("t").append(b"x")
    with pytest.raises(StoreUnusableError, match="xadd"):
        sweeper.topic("t").append(b"y")
    with pytest.raises(StoreUnusableError, match="exists"):
        sweeper.topic("new").append(b"y")
    (info,) = operator.maintenance.topics()
    assert (info.name, info.records) == ("t", 1)


def test_nobody_touches_the_keys_of_others(appender: tailrace.StreamClient, server: RedisServer) -> None:
    url = f"{server.url_for('appender', 'secret2')}?prefix=other"
    with tailrace.connect(url) as streams, pytest.raises(StoreUnusableError, match="NOPERM"):
        streams.topic("t").append(b"x")
