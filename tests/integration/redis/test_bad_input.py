"""What is wrong on the server is told in our words, by our classes, and nothing is half-written."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
import redis
from tests.integration.redis.conftest import OpenStore
from tests.integration.redis.steps import append, bounds, payloads, read, refused
from tests.redis_server import redis_server

import tailrace
from tailrace import DurableStreamUnavailableError, InvalidArgumentError, StoreUnusableError, spi
from tailrace.backends.redis import RedisStore
from tailrace.backends.redis.keys import TopicKeys


@pytest.fixture
def snapshot(raw: "redis.Redis", prefix: str) -> Callable[[], dict[bytes, bytes | None]]:
    """Return all keys of the test with everything in them."""
    return lambda: {key: raw.dump(key) for key in sorted(raw.scan_iter(f"{prefix}:*"))}


@pytest.mark.parametrize("which", ["identity", "stream"])
def test_a_key_of_another_type_is_named(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys, which: str, snapshot: Callable[[], object]
) -> None:
    key = getattr(keys, which)
    raw.set(key, "somebody's")
    before = snapshot()

    error = refused(store, "t")

    assert isinstance(error, StoreUnusableError)
    assert key.decode() in str(error)
    assert snapshot() == before
    with pytest.raises(StoreUnusableError, match=re.escape(key.decode())):
        store.bounds("t")
    outcome = read(store, "t", spi.Unborn(2**60, 0))
    assert isinstance(outcome, spi.ReadFailed)
    assert isinstance(outcome.error, StoreUnusableError)


def test_a_key_of_another_type_under_the_stream_of_a_topic_that_exists_takes_nothing_with_it(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys, snapshot: Callable[[], object]
) -> None:
    append(store, "t", b"a")
    raw.delete(keys.stream)
    raw.set(keys.stream, "somebody's")
    before = snapshot()

    assert isinstance(refused(store, "t", b"much longer than before"), StoreUnusableError)

    assert snapshot() == before


def test_one_broken_topic_does_not_fail_its_neighbours(store: RedisStore, raw: "redis.Redis", keys: TopicKeys) -> None:
    raw.set(keys.identity, "somebody's")
    entries = [spi.Entry("a", [b"1"]), spi.Entry("t", [b"2"]), spi.Entry("b", [b"3"])]

    outcomes = store.append(entries, 10.0)
    assert [type(outcome) for outcome in outcomes] == [spi.Appended, spi.AppendRefused, spi.Appended]

    pages = store.read([spi.ReadRequest(name, spi.Unborn(2**60, 0), 10, 100) for name in "atb"])
    assert [type(page) for page in pages] == [spi.Page, spi.ReadFailed, spi.Page]
    assert [info.name for info in store.topics()] == ["a", "b"]


def test_entries_of_somebody_else_in_the_stream_are_told_and_the_key_is_named(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys, snapshot: Callable[[], object]
) -> None:
    start = append(store, "t", b"a")
    raw.xadd(keys.stream, {"field": "foreign"})
    before = snapshot()

    error = refused(store, "t")

    assert isinstance(error, StoreUnusableError)
    assert keys.stream.decode() in str(error)
    assert snapshot() == before
    outcome = read(store, "t", start)
    assert isinstance(outcome, spi.ReadFailed)
    assert isinstance(outcome.error, StoreUnusableError)
    assert keys.stream.decode() in str(outcome.error)


def test_an_entry_of_somebody_else_between_two_of_ours_is_not_delivered(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys
) -> None:
    start = append(store, "t", b"a")
    raw.xadd(keys.stream, {"p": "foreign"}, id="2-1")
    append(store, "t", b"b")

    outcome = read(store, "t", start)

    assert isinstance(outcome, spi.ReadFailed)
    assert isinstance(outcome.error, StoreUnusableError)


def test_an_identity_that_is_none_of_ours_is_damage(store: RedisStore, raw: "redis.Redis", keys: TopicKeys) -> None:
    raw.hset(keys.identity, mapping={"i": "not a number", "n": "1", "l": "1", "b": "0", "a": "0"})
    with pytest.raises(StoreUnusableError, match="damaged"):
        store.bounds("t")


def test_records_without_an_identity_are_refused_until_they_are_deleted(
    store: RedisStore, raw: "redis.Redis", keys: TopicKeys
) -> None:
    start = append(store, "t", b"a")
    raw.delete(keys.identity)

    assert isinstance(refused(store, "t"), StoreUnusableError)
    with pytest.raises(StoreUnusableError, match="delete the topic"):
        store.bounds("t")
    with pytest.raises(StoreUnusableError, match="delete the topic"):
        store.seal("t", None)
    assert isinstance(read(store, "t", start), spi.PositionLost)

    unborn = spi.Unborn(2**60, 0)
    assert store.delete("t") is True
    assert append(store, "t", b"anew").position == 1
    # A life of which nothing is known came and went.
    assert isinstance(read(store, "t", unborn), spi.PositionLost)


@pytest.fixture
def guarded() -> Iterator[str]:
    """The host and port of a server that wants a password."""
    with redis_server(requirepass="secret") as url:
        # Found by its port, so that nothing here needs to know the password but the test.
        yield url.removeprefix("redis://").removeprefix(":secret@")


def test_a_missing_or_wrong_password_is_told_on_opening(guarded: str) -> None:
    for credentials in ("", ":wrong@", "nobody:secret@"):
        with pytest.raises(StoreUnusableError) as caught:
            tailrace.connect(f"redis://{credentials}{guarded}")
        assert "secret" not in str(caught.value)
    tailrace.connect(f"redis://:secret@{guarded}").close()


def test_a_forbidden_command_is_named(server: str, raw: "redis.Redis", prefix: str) -> None:
    rules = ["+@connection", "+evalsha", "+eval", "+hmget", "+time", "+exists"]
    raw.execute_command("ACL", "SETUSER", "half", "on", ">pw", f"~{prefix}:*", "resetchannels", f"&{prefix}:*", *rules)
    url = server.replace("redis://", "redis://half:pw@") + f"/0?prefix={prefix}"
    with tailrace.connect(url) as streams:
        with pytest.raises(StoreUnusableError, match="hset"):
            streams.topic("t").append(b"x")
        with pytest.raises(StoreUnusableError, match="xlen"):
            streams.topic("t").checkpoint()
    assert list(raw.scan_iter(f"{prefix}:*")) == []


def test_a_script_that_may_write_the_identity_only_leaves_nothing_behind(
    server: str, raw: "redis.Redis", prefix: str, snapshot: Callable[[], object]
) -> None:
    rules = ["+@connection", "+evalsha", "+eval", "+hmget", "+time", "+hset", "+hdel", "+exists"]
    raw.execute_command("ACL", "SETUSER", "half", "on", ">pw", f"~{prefix}:*", "resetchannels", f"&{prefix}:*", *rules)
    url = server.replace("redis://", "redis://half:pw@") + f"/0?prefix={prefix}"
    with tailrace.connect(url) as streams:
        with pytest.raises(StoreUnusableError, match="xadd"):
            streams.topic("t").append(b"x")
        assert snapshot() == {}
        with closing(RedisStore(raw, prefix=prefix)) as store:
            append(store, "t", b"x")
        before = snapshot()
        with pytest.raises(StoreUnusableError, match="xadd"):
            streams.topic("t").append(b"longer")
        assert snapshot() == before


def test_keys_beyond_the_allowed_ones_are_told(server: str, raw: "redis.Redis", prefix: str) -> None:
    raw.execute_command("ACL", "SETUSER", "other", "on", ">pw", "~other:*", "&*", "+@all")
    url = server.replace("redis://", "redis://other:pw@") + f"/0?prefix={prefix}"
    with tailrace.connect(url) as streams, pytest.raises(StoreUnusableError, match="rights"):
        streams.topic("t").append(b"x")


def test_a_hint_that_may_not_be_sent_does_not_fail_the_append(
    server: str, raw: "redis.Redis", prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    raw.execute_command("ACL", "SETUSER", "mute", "on", ">pw", "~*", "resetchannels", "+@all")
    url = server.replace("redis://", "redis://mute:pw@") + f"/0?prefix={prefix}"
    with tailrace.connect(url) as streams:
        streams.topic("t").append(b"x")
        streams.topic("t").append(b"y")
    assert len([record for record in caplog.records if "woken" in record.message]) == 1


def test_a_replica_refuses_appends_and_serves_reads(server: str, raw: "redis.Redis", prefix: str) -> None:
    host, _, port = server.removeprefix("redis://").partition(":")
    with closing(RedisStore(raw, prefix=prefix)) as primary, redis_server(replicaof=f"{host} {port}") as url:
        start = append(primary, "t", b"a")
        replica_client = redis.Redis.from_url(url, protocol=2)
        raw.set(f"{prefix}:mark", "")
        assert raw.wait(1, 10_000) == 1
        with closing(RedisStore(replica_client, prefix=prefix)) as replica:
            error = refused(replica, "t")
            assert not isinstance(error, StoreUnusableError)
            assert "primary" in str(error)
            assert bounds(replica, "t").tail == start
            assert payloads(read(replica, "t", bounds(replica, "t").beginning)) == [b"a"]
        replica_client.close()


def test_a_full_server_refuses_appends_and_serves_reads(
    store: RedisStore, raw: "redis.Redis", snapshot: Callable[[], object]
) -> None:
    append(store, "t", b"a")
    before = snapshot()
    raw.config_set("maxmemory", "1")
    try:
        for topic in ("t", "new"):
            error = refused(store, topic)
            assert isinstance(error, StoreUnusableError)
            assert "maxmemory" in str(error)
        with pytest.raises(StoreUnusableError, match="maxmemory"):
            store.seal("t", None)
        assert payloads(read(store, "t", bounds(store, "t").beginning)) == [b"a"]
    finally:
        raw.config_set("maxmemory", "0")
    assert snapshot() == before
    append(store, "t", b"b")


def test_a_database_that_is_not_there_is_told_on_opening(server: str) -> None:
    with pytest.raises(StoreUnusableError, match="no database"):
        tailrace.connect(f"{server}/4000")


def test_a_server_that_is_not_there_is_away() -> None:
    with pytest.raises(DurableStreamUnavailableError, match=r"Redis at 127\.0\.0\.1:9") as caught:
        tailrace.connect("redis://127.0.0.1:9")
    assert not isinstance(caught.value, StoreUnusableError)


def test_a_server_that_speaks_something_else_is_told(tmp_path: object) -> None:
    import socket
    import threading

    listener = socket.create_server(("127.0.0.1", 0))

    def talk() -> None:
        peer, _ = listener.accept()
        peer.recv(1000)
        peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        peer.close()

    thread = threading.Thread(target=talk)
    thread.start()
    with pytest.raises(DurableStreamUnavailableError):
        tailrace.connect(f"redis://127.0.0.1:{listener.getsockname()[1]}", append_timeout=5.0)
    thread.join()
    listener.close()


def test_a_client_that_decodes_is_refused_in_one_sentence(server: str, open_store: OpenStore) -> None:
    client = redis.Redis.from_url(server, decode_responses=True)
    with pytest.raises(InvalidArgumentError, match="decode_responses=True"):
        open_store(client)
    client.close()
    with pytest.raises(InvalidArgumentError, match="decode_responses=True"):
        tailrace.connect(f"{server}/0?decode_responses=true")


@pytest.mark.parametrize("thing", [None, "redis://localhost", object()])
def test_what_is_no_client_is_refused(thing: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"redis\.Redis client"):
        RedisStore(thing)


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost/zero",
        "redis://localhost/0?nonsense=1",
        "redis://localhost/0?prefix={x}",
        "redis://localhost/0?prefix=",
        "redis://localhost:99999/0",
        "redis://localhost/0?protocol=4",
        "redis://localhost/0?db=one",
    ],
)
def test_a_url_that_can_not_be_meant_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgumentError):
        tailrace.connect(url)
