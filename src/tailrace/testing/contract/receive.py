"""Receive: a record, None for this call's timeout, or CLOSED for good."""

import time

from tailrace.records import CLOSED, Closed, DurableStreamRecord
from tailrace.testing.drivers import Topic
from tailrace.testing.faults import FaultyBackend, Pause, Stall
from tailrace.testing.fixtures import Connect
from tailrace.testing.reading import PATIENCE, Background, nothing, numbered, payloads, take


class TestReceive:
    def test_a_record_brings_payload_and_cursor(self, topic: Topic) -> None:
        topic.append(b"x")
        with topic.subscribe_from_beginning() as subscription:
            record = subscription.receive(timeout=5)
        assert isinstance(record, DurableStreamRecord)
        assert record.payload == b"x"
        assert isinstance(record.cursor, str)

    def test_none_comes_at_the_timeout(self, topic: Topic) -> None:
        with topic.subscribe_from_tail() as subscription:
            started = time.monotonic()
            assert subscription.receive(timeout=0.3) is None
            assert 0.29 <= time.monotonic() - started < 5

    def test_the_default_timeout_is_a_tenth_of_a_second(self, topic: Topic) -> None:
        with topic.subscribe_from_tail() as subscription:
            took: list[float] = []
            for _ in range(5):
                started = time.monotonic()
                assert subscription.receive() is None
                took.append(time.monotonic() - started)
            assert 0.09 <= min(took) < 1

    def test_a_timeout_of_zero_does_not_wait(self, topic: Topic) -> None:
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            started = time.monotonic()
            for _ in range(100):
                assert subscription.receive(timeout=0) is None
            assert time.monotonic() - started < 5

    def test_whoever_never_waits_gets_everything_all_the_same(self, topic: Topic, peer_topic: Topic) -> None:
        topic.append_many(numbered(700))
        with topic.subscribe_from_beginning() as subscription:
            found: list[bytes] = []
            deadline = time.monotonic() + PATIENCE
            while len(found) < 701 and time.monotonic() < deadline:
                answer = subscription.receive(timeout=0)
                if isinstance(answer, DurableStreamRecord):
                    found.append(answer.payload)
                elif len(found) == 700:
                    peer_topic.append(b"700")
        assert found[:701] == numbered(701)

    def test_none_ends_only_this_call(self, topic: Topic) -> None:
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            nothing(subscription)
            topic.append(b"x")
            assert payloads(take(subscription, 1)) == [b"x"]

    def test_a_waiting_receive_is_woken_by_an_append_of_the_same_client(self, topic: Topic) -> None:
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            waiting = Background(lambda: subscription.receive(timeout=PATIENCE))
            topic.append(b"x")
            assert _payload(waiting.result(timeout=5)) == b"x"

    def test_a_waiting_receive_is_woken_by_an_append_elsewhere(self, topic: Topic, peer_topic: Topic) -> None:
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            waiting = Background(lambda: subscription.receive(timeout=PATIENCE))
            peer_topic.append(b"x")
            assert _payload(waiting.result(timeout=5)) == b"x"

    def test_a_reader_that_caught_up_follows_what_comes(self, topic: Topic, peer_topic: Topic) -> None:
        topic.append_many(numbered(5))
        with topic.subscribe_from_beginning() as subscription:
            take(subscription, 5)
            for number in range(5, 50):
                (topic if number % 2 else peer_topic).append(b"%d" % number)
                assert payloads(take(subscription, 1)) == [b"%d" % number]

    def test_a_record_that_is_there_is_returned_without_waiting_for_the_timeout(self, topic: Topic) -> None:
        topic.append(b"x")
        with topic.subscribe_from_beginning() as subscription:
            started = time.monotonic()
            assert _payload(subscription.receive(timeout=PATIENCE)) == b"x"
            assert time.monotonic() - started < PATIENCE / 2

    def test_a_timeout_longer_than_any_clock_still_waits(self, topic: Topic) -> None:
        with topic.subscribe_from_tail() as subscription:
            waiting = Background(lambda: subscription.receive(timeout=1e12))
            topic.append(b"x")
            assert _payload(waiting.result()) == b"x"

    def test_whole_seconds_will_do_as_a_timeout(self, topic: Topic) -> None:
        topic.append(b"x")
        with topic.subscribe_from_beginning() as subscription:
            assert _payload(subscription.receive(timeout=5)) == b"x"

    def test_the_end_is_one_object_for_ever(self, topic: Topic) -> None:
        topic.seal()
        with topic.subscribe_from_beginning() as subscription:
            assert subscription.receive(timeout=5) is CLOSED
            assert subscription.receive(timeout=0) is CLOSED
            assert subscription.receive() is CLOSED
        assert subscription.receive() is CLOSED

    def test_a_store_that_hangs_keeps_nobody_beyond_the_timeout(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, buffer_records=1).topic(name)
        topic.append_many(numbered(9))
        with topic.subscribe_from_beginning() as subscription:
            found = payloads(take(subscription, 1))
            stall = Stall()
            faulty.always("read", stall)
            try:
                # A page may have been asked for ahead.
                while isinstance(record := subscription.receive(timeout=0.1), DurableStreamRecord):
                    found.append(record.payload)
                for timeout in (0.1, 0.1, 0, 0):
                    started = time.monotonic()
                    record = subscription.receive(timeout=timeout)
                    assert time.monotonic() - started < 5
                    assert record is None
            finally:
                faulty.heal()
                stall.release()
            assert found + payloads(take(subscription, 9 - len(found))) == numbered(9)
            assert faulty.calls["read"] < 20

    def test_a_slow_store_is_read_to_the_end_by_calls_that_are_shorter_than_its_reads(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, buffer_records=2).topic(name)
        topic.append_many(numbered(9))
        with topic.subscribe_from_beginning() as subscription:
            faulty.always("read", Pause(0.1))
            found: list[bytes] = []
            deadline = time.monotonic() + PATIENCE
            while len(found) < 9:
                assert time.monotonic() < deadline, f"only {len(found)} of 9 records came"
                record = subscription.receive(timeout=0.001)
                if isinstance(record, DurableStreamRecord):
                    found.append(record.payload)
        assert found == numbered(9)
        # Nobody asks again for what is on its way.
        assert faulty.calls["read"] < 20


def _payload(answer: DurableStreamRecord | Closed | None) -> bytes:
    assert isinstance(answer, DurableStreamRecord), answer
    return answer.payload
