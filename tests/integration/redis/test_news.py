"""A small record comes along with its hint; what it says is checked by the place that it follows."""

import time
from collections.abc import Callable, Iterator

import pytest
import redis
from tests.integration.redis.conftest import OpenStore
from tests.integration.redis.steps import append, bounds, payloads, read

from tailrace import CLOSED, CursorUnavailableError, StreamClient, spi
from tailrace.backends.redis import RedisStore
from tailrace.backends.redis.keys import TopicKeys
from tailrace.backends.redis.news import KEPT
from tailrace.records import DurableStreamRecord
from tailrace.retention import Retention

Reads = Callable[[], int]


@pytest.fixture
def watching(store: RedisStore) -> Iterator[spi.Watch]:
    """A watch that follows ``t``."""
    append(store, "t", b"first")
    watch = store.watch()
    watch.follow({"t"}, ())
    yield watch
    watch.close()


@pytest.fixture
def reads(raw: "redis.Redis") -> Reads:
    """How many ranges the server has read so far."""
    return lambda: int(raw.info("commandstats").get("cmdstat_xrange", {}).get("calls", 0))


def hear(watch: spi.Watch, topic: str = "t") -> None:
    deadline = time.monotonic() + 30
    while topic not in watch.wait(5.0).topics:
        assert time.monotonic() < deadline, f"nothing was heard of {topic}"


def test_a_live_record_needs_no_read_and_the_next_look_tells_the_rest(
    store: RedisStore, open_store: OpenStore, watching: spi.Watch, reads: Reads
) -> None:
    tail = bounds(store, "t").tail
    other = open_store()
    append(other, "t", b"live")
    hear(watching)
    before = reads()

    page = read(store, "t", tail)

    assert payloads(page) == [b"live"]
    assert isinstance(page, spi.Page)
    assert page.more
    assert reads() == before
    other.seal("t", None)
    last = read(store, "t", page.end)
    assert isinstance(last, spi.Page)
    assert (last.records, last.more, last.seal) == ((), False, spi.Seal())


def test_large_records_and_batches_are_read(store: RedisStore, watching: spi.Watch, reads: Reads) -> None:
    for batch in ([b"x" * 1025], [b"a", b"b"]):
        tail = bounds(store, "t").tail
        append(store, "t", *batch)
        hear(watching)
        before = reads()
        assert payloads(read(store, "t", tail)) == batch
        assert reads() == before + 1


def test_what_was_deleted_meanwhile_is_told_as_lost(store: RedisStore, watching: spi.Watch) -> None:
    tail = bounds(store, "t").tail
    append(store, "t", b"gone")
    hear(watching)
    store.delete("t")
    hear(watching)

    assert isinstance(read(store, "t", tail), spi.PositionLost)


def test_what_is_heard_while_a_topic_is_dropped_is_not_kept(store: RedisStore, watching: spi.Watch) -> None:
    tail = bounds(store, "t").tail
    append(store, "t", b"unheard")
    # Its hint is on its way, and is read before the confirmation.
    watching.follow((), {"t"})
    # Nobody hears of this.
    store.delete("t")

    assert isinstance(read(store, "t", tail), spi.PositionLost)


def test_what_nobody_took_is_dropped_by_the_next_look(
    store: RedisStore, open_store: OpenStore, watching: spi.Watch
) -> None:
    other, start = open_store(), bounds(store, "t").tail
    # More than are kept: what is left begins further on than whoever follows the topic stands.
    places = [append(other, "t", b"%d" % number) for number in range(KEPT + 2)]
    watching.follow({"later"}, ())
    append(other, "later", b"heard after all others")
    hear(watching, "later")
    assert isinstance(read(store, "t", start), spi.Page)
    other.trim("t", Retention(max_records=0))

    lost = [read(store, "t", place) for place in places[:-1]]
    assert {type(outcome) for outcome in lost} == {spi.PositionLost}


def test_a_copy_of_the_topic_in_another_database_is_not_heard(
    store: RedisStore, raw: "redis.Redis", server: str, keys: TopicKeys, prefix: str
) -> None:
    append(store, "t", b"first")
    for key in (keys.identity, keys.stream):
        raw.copy(key, key, destination_db=3)
    copy = RedisStore(redis.Redis.from_url(f"{server}/3"), prefix=prefix)
    with StreamClient(store) as here, here.topic("t").subscribe_from_tail() as subscription:
        assert subscription.receive(0.05) is None
        append(copy, "t", b"of the copy")
        assert subscription.receive(0.2) is None
        here.topic("t").append(b"ours")
        record = subscription.receive(5.0)
        assert isinstance(record, DurableStreamRecord)
        assert record.payload == b"ours"
    copy.close()


def test_a_topic_restored_under_a_live_reader_is_told_also_by_what_comes_along(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys
) -> None:
    with StreamClient(store) as streams:
        topic = streams.topic("t")
        topic.append(b"1")
        saved = {key: raw.dump(key) for key in (keys.identity, keys.stream)}
        with topic.subscribe_from_tail() as subscription:
            assert subscription.receive(0.05) is None
            topic.append(b"2")
            assert isinstance(subscription.receive(5.0), DurableStreamRecord)
            for key, dump in saved.items():
                raw.restore(key, 0, dump, replace=True)
            topic.append(b"another 2")
            with pytest.raises(CursorUnavailableError):
                subscription.receive(5.0)
            assert subscription.receive() is CLOSED


def test_what_nobody_came_for_before_the_next_wait_is_forgotten(store: RedisStore, watching: spi.Watch) -> None:
    tail = bounds(store, "t").tail
    append(store, "t", b"live")
    hear(watching)
    watching.wait(0)
    store.trim("t", Retention(max_records=0))

    assert isinstance(read(store, "t", tail), spi.PositionLost)
