"""S13c over HTTP: the server is killed, hangs, or is restarted under clients of the library."""

import threading
import time
from collections.abc import Callable

import pytest
from tests.http.server import Replica

import tailrace
from tailrace.errors import DurableStreamUnavailableError
from tailrace.testing.leaks import no_leaks
from tailrace.testing.reading import Background, numbered, payloads, read_all, take
from tailrace.testing.servers.waiting import until


def test_readers_go_on_by_themselves_when_the_server_was_killed(replica: Callable[..., Replica]) -> None:
    server = replica()
    with no_leaks(pooled_files=10), tailrace.connect(server.url) as streams:
        topics = [streams.topic(f"t{number}") for number in range(4)]
        entered = [topic.subscribe_from_tail().__enter__() for topic in topics]
        for start in (0, 5):
            readers = [Background(lambda one=one: payloads(take(one, 10))) for one in entered]  # type: ignore[misc]
            for topic in topics:
                topic.append_many(numbered(5, 2 * start))
            server.kill()
            server.start()
            for topic in topics:
                topic.append_many(numbered(5, 2 * start + 5))
            assert [reader.result() for reader in readers] == [numbered(10, 2 * start)] * 4
        for one in entered:
            one.close()
        streams.close()
        server.kill()


def test_readers_go_on_by_themselves_when_the_server_was_restarted_in_peace(replica: Callable[..., Replica]) -> None:
    server = replica()
    with no_leaks(pooled_files=10), tailrace.connect(server.url) as streams:
        topic = streams.topic("t")
        with topic.subscribe_from_tail() as subscription:
            assert subscription.receive(timeout=0.05) is None
            reader = Background(lambda: payloads(take(subscription, 1)))
            server.restart()
            topic.append(b"x")
            assert reader.result() == [b"x"]
        streams.close()
        server.kill()


@pytest.mark.parametrize("kills", [1, pytest.param(8, marks=pytest.mark.long)])
def test_appends_while_the_server_is_killed_are_stored_once_or_told(
    replica: Callable[..., Replica], kills: int
) -> None:
    server = replica()
    known: dict[bytes, str] = {}
    ended = threading.Event()

    def append(streams: tailrace.StreamClient, writer: int) -> None:
        number = 0
        while not ended.is_set():
            payload = b"%d-%d" % (writer, number)
            number += 1
            try:
                streams.topic("t").append(payload)
                known[payload] = "appended"
            except DurableStreamUnavailableError as error:
                known[payload] = "unknown" if error.maybe_stored else "refused"

    with no_leaks(pooled_files=10), tailrace.connect(server.url) as streams:
        topic = streams.topic("t")
        topic.append(b"first")
        with topic.subscribe_from_beginning() as subscription:
            writers = [Background(lambda writer=writer: append(streams, writer)) for writer in range(4)]  # type: ignore[misc]
            for _ in range(kills):
                before = appended(known)
                until(lambda enough=before + 20: appended(known) > enough, "appends go on", timeout=60)  # type: ignore[misc]
                server.kill()
                server.start()
            ended.set()
            for writer in writers:
                writer.result()
            topic.append(b"last")
            seen = []
            while not seen or seen[-1] != b"last":
                seen += payloads(take(subscription, 1))
        streams.close()
        server.kill()
    assert len(seen) == len(set(seen))
    stored = set(seen) - {b"first", b"last"}
    assert stored >= {payload for payload, outcome in known.items() if outcome == "appended"}
    assert stored.isdisjoint(payload for payload, outcome in known.items() if outcome == "refused")
    assert "appended" in known.values()


def test_a_server_that_hangs_keeps_nobody_beyond_its_timeout(replica: Callable[..., Replica]) -> None:
    server = replica()
    with no_leaks(pooled_files=10), tailrace.connect(server.url, append_timeout=1.0) as streams:
        topic = streams.topic("t")
        topic.append(b"0")
        with topic.subscribe_from_beginning() as subscription:
            take(subscription, 1)
            server.freeze()
            try:
                with pytest.raises(DurableStreamUnavailableError) as caught:
                    topic.append(b"1")
                started = time.monotonic()
                assert subscription.receive(timeout=0.2) is None
                assert time.monotonic() - started < 5.0
            finally:
                server.thaw()
            assert caught.value.maybe_stored is True
            topic.append(b"2")
            seen = []
            while not seen or seen[-1] != b"2":
                seen += payloads(take(subscription, 1))
            assert seen in ([b"1", b"2"], [b"2"])


def test_a_client_that_is_closed_while_the_server_hangs_does_not_wait_for_it(replica: Callable[..., Replica]) -> None:
    server = replica()
    with no_leaks(pooled_files=10):
        streams = tailrace.connect(server.url)
        topic = streams.topic("t")
        topic.append(b"0")
        with topic.subscribe_from_tail() as subscription:
            assert subscription.receive(timeout=0.05) is None
            server.freeze()
            waiting = Background(lambda: outcome(topic))
            try:
                started = time.monotonic()
                streams.close()
                assert time.monotonic() - started < 5.0
                assert waiting.result() in ("unknown", "refused")
            finally:
                server.thaw()


def test_a_replica_that_goes_for_good_is_replaced_by_another(replica: Callable[..., Replica]) -> None:
    first, second = replica(), replica()
    with tailrace.connect(first.url) as here, tailrace.connect(second.url) as there:
        with here.topic("t").subscribe_from_tail() as subscription:
            there.topic("t").append_many(numbered(3))
            cursor = take(subscription, 2)[-1].cursor
        first.kill()
        assert read_all(there.topic("t").subscribe_from_cursor(cursor), 1) == numbered(1, 2)


def appended(known: dict[bytes, str]) -> int:
    return sum(outcome == "appended" for outcome in tuple(known.values()))


def outcome(topic: tailrace.Topic) -> str:
    try:
        topic.append(b"x")
    except DurableStreamUnavailableError as error:
        return "unknown" if error.maybe_stored else "refused"
    return "appended"
