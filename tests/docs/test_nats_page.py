"""The rights that the page on NATS shows are enough for each user, and for nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.blocks import blocks
from tests.docs.parts import each_does_its_part

import tailrace
from tailrace import Retention, StoreUnusableError
from tailrace.testing.reading import payloads, take
from tailrace.testing.servers.nats import NatsServer

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "nats.md"


@pytest.fixture(scope="module")
def server() -> Iterator[NatsServer]:
    page = PAGE.read_text(encoding="utf-8")
    (users,) = (block.body for block in blocks(page) if block.body.startswith("READER"))
    with NatsServer(users={"operator": "secret0"}, lines=users) as server:
        tailrace.connect(server.url(), create=True).close()
        yield server


def _as(server: NatsServer, user: str, secret: str, **options: float) -> tailrace.StreamClient:
    return tailrace.connect(f"nats://{user}:{secret}@127.0.0.1:{server.port}", **options)  # type: ignore[arg-type]


@pytest.fixture
def operator(server: NatsServer) -> Iterator[tailrace.StreamClient]:
    with _as(server, "operator", "secret0") as streams:
        for info in streams.maintenance.topics():
            streams.maintenance.delete(info.name)
        yield streams


@pytest.fixture
def reader(server: NatsServer) -> Iterator[tailrace.StreamClient]:
    with _as(server, "reader", "secret1") as streams:
        yield streams


@pytest.fixture
def appender(server: NatsServer) -> Iterator[tailrace.StreamClient]:
    with _as(server, "appender", "secret2") as streams:
        yield streams


@pytest.fixture
def sweeper(server: NatsServer) -> Iterator[tailrace.StreamClient]:
    with _as(server, "sweeper", "secret3", forget_after=0.001) as streams:
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
    with pytest.raises(StoreUnusableError, match=r"publish to tailrace\.t\."):
        topic.append(b"y")
    with pytest.raises(StoreUnusableError, match=r"publish to \$KV\.tailrace"):
        topic.seal()
    with pytest.raises(StoreUnusableError, match="publish to"):
        maintenance.delete("t")
    with pytest.raises(StoreUnusableError, match="publish to"):
        maintenance.trim("t", Retention(max_records=0))
    with reader.topic("t").subscribe_from_beginning() as subscription:
        assert payloads(take(subscription, 1)) == [b"x"]
    assert [info.records for info in operator.maintenance.topics()] == [1]


def test_an_appender_removes_no_message(operator: tailrace.StreamClient, appender: tailrace.StreamClient) -> None:
    operator.topic("t").append(b"x")
    with pytest.raises(StoreUnusableError, match=r"publish to \$JS\.API\.STREAM\.PURGE"):
        appender.maintenance.trim("t", Retention(max_records=0))


def test_nobody_touches_another_store(server: NatsServer, operator: tailrace.StreamClient) -> None:
    tailrace.connect(server.url(stream="other"), create=True).close()
    url = f"nats://appender:secret2@127.0.0.1:{server.port}/?stream=other"
    with (
        tailrace.connect(url) as streams,
        pytest.raises(StoreUnusableError, match=r"publish to (other\.t\.|\$KV\.other)"),
    ):
        streams.topic("t").append(b"x")
