"""What the page says of a lost answer: raw code stores twice, an append is stored once, and told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from tests.docs.blocks import blocks

import tailrace
from tailrace.testing.faults.proxy import FlakyProxy
from tailrace.testing.servers.redis import RedisServer

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "move-from-redis-streams.md"


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[FlakyProxy]:
    with FlakyProxy(server.address) as proxy:
        yield proxy


def _append_told() -> Any:
    (block,) = [block.body for block in blocks(PAGE.read_text("utf-8")) if "def append_told" in block.body]
    names: dict[str, Any] = {"tailrace": tailrace}
    exec(block.partition("\n\n\nassert")[0], names)
    return names["append_told"]


def test_raw_code_stores_an_event_twice_if_only_its_answer_was_lost(server: RedisServer, proxy: FlakyProxy) -> None:
    with redis.Redis(port=proxy.port) as raw, redis.Redis.from_url(server.url) as direct:
        raw.ping()
        proxy.drop_reply(lambda data: b"XADD" in data)
        raw.xadd("run:7", {"event": "once"})
        assert [fields for _, fields in direct.xrange("run:7")] == [{b"event": b"once"}] * 2


def test_without_retries_it_is_told(server: RedisServer, proxy: FlakyProxy) -> None:
    with redis.Redis(port=proxy.port, retry=Retry(NoBackoff(), 0)) as raw, redis.Redis.from_url(server.url) as direct:
        raw.ping()
        proxy.drop_reply(lambda data: b"XADD" in data)
        with pytest.raises(redis.ConnectionError):
            raw.xadd("run:8", {"event": "once"})
        assert direct.xlen("run:8") == 1


def test_an_append_is_stored_once_and_told_to_be_unknown(server: RedisServer, proxy: FlakyProxy) -> None:
    with tailrace.connect(f"redis://127.0.0.1:{proxy.port}/0") as streams, tailrace.connect(server.url) as direct:
        topic = streams.topic("run:9")
        assert _append_told()(topic, b"first")
        proxy.drop_reply(lambda data: b"second" in data)
        assert not _append_told()(topic, b"second")
        with direct.topic("run:9").subscribe_from_beginning() as subscription:
            records = [subscription.receive(timeout=1) for _ in range(3)]
        assert [record and record.payload for record in records] == [b"first", b"second", None]  # type: ignore[union-attr]
