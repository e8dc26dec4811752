"""What somebody else removes or evicts is told to whoever has not read it, and to nobody else."""

import pytest
import redis
from tests.integration.redis.steps import append, bounds, numbered, payloads, read

from tailrace import spi
from tailrace.backends.redis import RedisStore
from tailrace.backends.redis.keys import TopicKeys
from tailrace.retention import Retention


def ids(raw: "redis.Redis", keys: TopicKeys) -> list[bytes]:
    """Return the ids of the topic's entries."""
    return [entry for entry, _ in raw.xrange(keys.stream)]


def fill(store: RedisStore, count: int) -> list[spi.Boundary]:
    """Append one record at a time; return the place of each."""
    return [append(store, "t", payload) for payload in numbered(count)]


def test_a_record_removed_in_the_middle_ends_the_page_before_it_and_then_the_reader(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys
) -> None:
    places = fill(store, 6)
    raw.xdel(keys.stream, ids(raw, keys)[3])

    page = read(store, "t", bounds(store, "t").beginning)

    assert payloads(page) == numbered(3)
    assert isinstance(page, spi.Page)
    assert page.more
    assert isinstance(read(store, "t", page.end), spi.PositionLost)
    # Whoever is past it has lost nothing.
    assert payloads(read(store, "t", places[4])) == numbered(1, 5)
    assert payloads(read(store, "t", places[5])) == []


def test_the_place_of_a_removed_record_is_not_proven_any_more(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys
) -> None:
    places = fill(store, 4)
    raw.xdel(keys.stream, ids(raw, keys)[1])
    assert isinstance(read(store, "t", places[1]), spi.PositionLost)
    assert isinstance(read(store, "t", places[0]), spi.PositionLost)


def test_a_last_record_that_was_removed_is_told_to_whoever_has_not_read_it(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys
) -> None:
    places = fill(store, 3)
    raw.xdel(keys.stream, ids(raw, keys)[2])
    assert isinstance(read(store, "t", places[1]), spi.PositionLost)
    # At the tail, which the identity proves.
    assert payloads(read(store, "t", places[2])) == []
    place = append(store, "t", b"3")
    # Nothing proves it any more. Rather told in vain than read on in another history.
    assert isinstance(read(store, "t", places[2]), spi.PositionLost)
    assert payloads(read(store, "t", place)) == []


def test_after_a_trim_by_somebody_else_the_beginning_is_what_is_left(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys
) -> None:
    places = fill(store, 6)
    raw.xtrim(keys.stream, maxlen=2, approximate=False)
    beginning = bounds(store, "t").beginning
    assert beginning.position == 4
    assert payloads(read(store, "t", beginning)) == numbered(2, 4)
    assert isinstance(read(store, "t", places[2]), spi.PositionLost)
    assert payloads(read(store, "t", places[4])) == numbered(1, 5)


@pytest.mark.parametrize("grown", [0, 2])
def test_after_an_eviction_of_the_records_the_topic_goes_on(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys, grown: int
) -> None:
    places = fill(store, 4)
    raw.delete(keys.stream)
    for payload in numbered(grown, 4):
        append(store, "t", payload)

    assert bounds(store, "t").tail.position == 4 + grown
    assert payloads(read(store, "t", bounds(store, "t").beginning)) == numbered(grown, 4)
    assert isinstance(read(store, "t", places[2]), spi.PositionLost)
    assert isinstance(read(store, "t", places[3]), spi.PositionLost if grown else spi.Page)


def test_a_trim_brings_the_horizon_to_what_somebody_else_left(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys
) -> None:
    fill(store, 4)
    raw.delete(keys.stream)
    assert store.trim("t", Retention(max_records=10)) == 0
    (info,) = store.topics()
    assert (info.records, info.bytes) == (0, 0)
    append(store, "t", b"4")
    assert payloads(read(store, "t", bounds(store, "t").beginning)) == [b"4"]


def test_a_check_without_reading_looks_at_the_place_only(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys
) -> None:
    places = fill(store, 3)
    page = read(store, "t", places[1], records=0)
    assert isinstance(page, spi.Page)
    assert (page.records, page.end, page.more) == ((), places[1], True)
    raw.delete(keys.identity, keys.stream)
    assert isinstance(read(store, "t", places[1], records=0), spi.PositionLost)
