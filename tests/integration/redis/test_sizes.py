"""However large records are, one reply holds a small multiple of a page."""

import redis
from tests.integration.redis.conftest import OpenStore
from tests.integration.redis.steps import append, bounds, numbered, payloads, read

from tailrace import spi
from tailrace.backends.redis import RedisStore

MIB = 2**20


def sent(raw: "redis.Redis") -> int:
    """Return the bytes that the server has sent to anybody."""
    return int(raw.info("stats")["total_net_output_bytes"])


def through_all(store: RedisStore, raw: "redis.Redis") -> tuple[list[int], list[int]]:
    """Read the topic page by page; return the sizes of the pages and of the replies."""
    pages: list[int] = []
    replies: list[int] = []
    after: spi.Place = bounds(store, "t").beginning
    while True:
        before = sent(raw)
        page = read(store, "t", after, size=MIB)
        replies.append(sent(raw) - before)
        assert isinstance(page, spi.Page)
        pages.append(sum(map(len, payloads(page))))
        after = page.end
        if not page.more:
            return pages, replies


def test_pages_of_large_records(store: RedisStore, raw: "redis.Redis", open_store: OpenStore) -> None:
    for _ in range(30):
        append(store, "t", b"x" * MIB)
    pages, replies = through_all(open_store(), raw)
    assert pages == [MIB] * 30
    assert max(replies) < 6 * MIB


def test_large_records_behind_small_ones(store: RedisStore, raw: "redis.Redis", open_store: OpenStore) -> None:
    append(store, "t", *numbered(4000))
    for _ in range(10):
        append(store, "t", b"x" * MIB)
    _, replies = through_all(open_store(), raw)
    assert max(replies) < 6 * MIB


def test_large_records_that_came_since_the_last_look(
    store: RedisStore, raw: "redis.Redis", open_store: OpenStore
) -> None:
    reader = open_store()
    append(store, "t", *numbered(400))
    page = read(reader, "t", bounds(reader, "t").beginning)
    assert isinstance(page, spi.Page)
    assert not page.more
    for _ in range(60):
        append(store, "t", b"x" * MIB)
    before = sent(raw)
    assert payloads(read(reader, "t", page.end, size=MIB)) == [b"x" * MIB]
    assert sent(raw) - before < 18 * MIB


def test_small_records_come_in_full_pages_from_the_second_on(store: RedisStore) -> None:
    append(store, "t", *numbered(4000))
    page = read(store, "t", bounds(store, "t").beginning)
    assert len(payloads(page)) == 512


def test_a_record_larger_than_a_page_comes_whole(store: RedisStore) -> None:
    append(store, "t", b"a" * 10)
    append(store, "t", b"b" * 1000)
    append(store, "t", b"c" * 10)
    start = bounds(store, "t").beginning
    page = read(store, "t", start, size=100)
    assert payloads(page) == [b"a" * 10]
    assert isinstance(page, spi.Page)
    page = read(store, "t", page.end, size=100)
    assert payloads(page) == [b"b" * 1000]
