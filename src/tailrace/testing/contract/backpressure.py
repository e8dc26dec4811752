"""Backpressure: memory is bounded, a slow reader loses nothing, and it blocks nobody."""

import time

from tailrace.testing.drivers import Client
from tailrace.testing.faults import FaultyBackend
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import PATIENCE, nothing, numbered, payloads, read_all, take

BUFFER = 16
PAGE = 8


class TestBackpressure:
    def test_a_slow_reader_loses_nothing(self, connect: Connect, name: str) -> None:
        topic = connect(buffer_records=BUFFER, page_records=PAGE).topic(name)
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            found: list[bytes] = []
            for number in range(60):
                topic.append_many(numbered(10, number * 10))
                found += payloads(take(subscription, 1))
            found += payloads(take(subscription, 600 - len(found)))
        assert found == numbered(600)

    def test_a_reader_that_falls_behind_again_and_again_stays_exact(self, connect: Connect, name: str) -> None:
        topic = connect(buffer_records=BUFFER, page_records=PAGE).topic(name)
        written, found = 0, 0
        with topic.subscribe_from_tail() as subscription:
            for burst in (1, 3 * BUFFER, 2, 0, 5 * BUFFER, 1, 1, BUFFER, BUFFER + 1, PAGE):
                topic.append_many(numbered(burst, written))
                written += burst
                while found < written:
                    (record,) = take(subscription, 1)
                    assert record.payload == b"%d" % found
                    found += 1
                nothing(subscription)

    def test_an_idle_reader_does_not_pull_the_whole_topic_into_memory(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, buffer_records=BUFFER, page_records=PAGE).topic(name)
        with topic.subscribe_from_beginning() as subscription:
            nothing(subscription)
            for number in range(50):
                topic.append_many(numbered(20, number * 20))
            _settle(faulty)
            assert faulty.records_read <= BUFFER + 3 * PAGE
            assert payloads(take(subscription, 1000)) == numbered(1000)

    def test_an_idle_reader_of_large_records_is_bounded_in_bytes(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, buffer_bytes=40_000, page_bytes=20_000).topic(name)
        with topic.subscribe_from_beginning() as subscription:
            nothing(subscription)
            for number in range(100):
                topic.append(b"%d" % number * 5000)
            _settle(faulty)
            assert faulty.records_read * 5000 <= 40_000 + 3 * 20_000
            assert payloads(take(subscription, 100)) == [b"%d" % number * 5000 for number in range(100)]

    def test_a_record_larger_than_the_whole_buffer_still_arrives(self, connect: Connect, name: str) -> None:
        topic = connect(buffer_records=1, buffer_bytes=10, page_records=1, page_bytes=10).topic(name)
        batch = [b"a" * 5, b"b" * 100_000, b"", b"c" * 11, b"d" * 200_000]
        with topic.subscribe_from_tail() as subscription:
            topic.append_many(batch[:2])
            assert payloads(take(subscription, 2)) == batch[:2]
            topic.append_many(batch[2:])
            assert payloads(take(subscription, 3)) == batch[2:]

    def test_append_does_not_wait_for_readers_that_stand_still(self, connect: Connect, name: str) -> None:
        topic = connect(buffer_records=BUFFER, page_records=PAGE).topic(name)
        readers = [topic.subscribe_from_beginning() for _ in range(20)]
        for reader in readers:
            reader.__enter__()
        started = time.monotonic()
        for number in range(50):
            topic.append_many(numbered(20, number * 20))
        assert time.monotonic() - started < 10
        for reader in readers[:3]:
            assert payloads(take(reader, 1000)) == numbered(1000)
        for reader in readers:
            reader.close()

    def test_a_laggard_does_not_delay_a_reader_that_keeps_up(self, connect: Connect, name: str) -> None:
        topic = connect(buffer_records=BUFFER, page_records=PAGE).topic(name)
        with topic.subscribe_from_tail() as laggard, topic.subscribe_from_tail() as quick:
            for number in range(200):
                topic.append(b"%d" % number)
                assert payloads(take(quick, 1)) == [b"%d" % number]
            assert payloads(take(laggard, 200)) == numbered(200)

    def test_a_laggard_may_leave_and_resume(self, connect: Connect, streams: Client, name: str) -> None:
        topic = connect(buffer_records=BUFFER, page_records=PAGE).topic(name)
        with topic.subscribe_from_tail() as laggard:
            topic.append_many(numbered(500))
            found = payloads(take(laggard, 20))
        rest = streams.topic(name).subscribe_from_cursor(laggard.cursor)
        assert found + read_all(rest, 480) == numbered(500)


def _settle(faulty: FaultyBackend) -> None:
    """Wait until the engine has stopped reading ahead."""
    seen, deadline = -1, time.monotonic() + PATIENCE
    while seen != faulty.records_read:
        assert time.monotonic() < deadline, f"it still reads ahead, after {seen} records"
        seen = faulty.records_read
        time.sleep(0.1)
