"""Close: idempotent, never raises, from any thread, and nothing is returned after it."""

import threading
import time
from collections.abc import Callable

import pytest

from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError
from tailrace.records import CLOSED
from tailrace.testing.drivers import Client, Subscription, Topic
from tailrace.testing.faults import FaultyBackend, Pause, Stall
from tailrace.testing.fixtures import Connect
from tailrace.testing.leaks import no_leaks
from tailrace.testing.reading import PATIENCE, Background, nothing, numbered, payloads, read_all, take
from tailrace.testing.stores import StoreUnderTest


class TestClose:
    def test_close_returns_none_however_often(self, topic: Topic) -> None:
        with topic.subscribe_from_tail() as subscription:
            for _ in range(3):
                assert subscription.close() is None  # type: ignore[func-returns-value]
        assert subscription.close() is None  # type: ignore[func-returns-value]

    def test_close_before_entering_is_harmless(self, topic: Topic) -> None:
        subscription = topic.subscribe_from_tail()
        subscription.close()
        assert subscription.receive(timeout=0) is CLOSED

    def test_close_after_a_failure_is_harmless(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append_many(numbered(3))
        subscription = topic.subscribe_from_beginning()
        store.trim(topic.name, keep=1)
        with pytest.raises(CursorUnavailableError):
            subscription.__enter__()
        subscription.close()
        assert subscription.receive(timeout=0) is CLOSED

    def test_nothing_is_returned_after_close_though_it_was_there(self, topic: Topic) -> None:
        topic.append_many(numbered(50))
        with topic.subscribe_from_beginning() as subscription:
            take(subscription, 1)
            subscription.close()
            assert subscription.receive(timeout=0.05) is CLOSED
            assert subscription.receive(timeout=0) is CLOSED

    def test_a_record_appended_after_close_is_never_returned(self, topic: Topic) -> None:
        for _ in range(20):
            with topic.subscribe_from_tail() as subscription:
                subscription.close()
                topic.append(b"late")
                assert subscription.receive(timeout=0) is CLOSED

    def test_leaving_the_block_closes(self, topic: Topic) -> None:
        topic.append(b"x")
        with topic.subscribe_from_beginning() as subscription:
            pass
        assert subscription.receive(timeout=0) is CLOSED

    def test_an_error_in_the_block_closes_and_comes_through(self, topic: Topic) -> None:
        with pytest.raises(ZeroDivisionError), topic.subscribe_from_tail() as subscription:
            raise ZeroDivisionError
        assert subscription.receive(timeout=0) is CLOSED

    def test_exit_returns_none(self, topic: Topic) -> None:
        subscription = topic.subscribe_from_tail()
        subscription.__enter__()
        assert subscription.__exit__(None, None, None) is None  # type: ignore[func-returns-value]
        assert subscription.__exit__(None, None, None) is None  # type: ignore[func-returns-value]

    def test_close_from_another_thread_unblocks_receive_within_a_tenth_of_a_second(self, topic: Topic) -> None:
        topic.append(b"x")
        # The best of a few: a busy machine may hold up any one of them, and a slow close holds up all.
        assert min(_seconds_to_unblock(topic.subscribe_from_tail()) for _ in range(5)) < 0.1

    def test_close_unblocks_a_reader_of_a_topic_that_does_not_exist(self, topic: Topic) -> None:
        assert min(_seconds_to_unblock(topic.subscribe_from_tail()) for _ in range(5)) < 0.1

    def test_close_from_many_threads_at_once_ends_one_receive(self, topic: Topic) -> None:
        with topic.subscribe_from_tail() as subscription:
            waiting = Background(lambda: subscription.receive(timeout=PATIENCE))
            for closing in [Background(subscription.close) for _ in range(8)]:
                closing.result()
            assert waiting.result() is CLOSED

    def test_close_does_not_wait_for_a_store_that_stalls(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty).topic(name)
        topic.append_many(numbered(3))
        stall = Stall()
        with topic.subscribe_from_beginning() as subscription:
            faulty.always("read", stall)
            topic.append(b"3")
            waiting = Background(lambda: [subscription.receive(timeout=0.2) for _ in range(5)])
            try:
                Background(subscription.close).result(timeout=5)
            finally:
                faulty.heal()
                stall.release()
            assert waiting.result()[-1] is CLOSED

    def test_close_unblocks_a_reader_that_catches_up_from_a_store_that_hangs(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, buffer_records=1).topic(name)
        topic.append_many(numbered(9))

        def seconds() -> float:
            with topic.subscribe_from_beginning() as subscription:
                take(subscription, 1)
                return _seconds_to_leave(faulty, subscription, lambda: _until_closed(subscription))

        assert min(seconds() for _ in range(3)) < 0.1

    def test_close_unblocks_whoever_enters_on_a_store_that_hangs(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty).topic(name)
        topic.append_many(numbered(9))

        def seconds() -> float:
            subscription = topic.subscribe_from_beginning()
            seconds = _seconds_to_leave(faulty, subscription, lambda: _not_entered(subscription))
            assert subscription.receive(timeout=0) is CLOSED
            return seconds

        assert min(seconds() for _ in range(3)) < 0.1

    def test_the_end_of_the_client_unblocks_whoever_catches_up_or_enters_on_a_store_that_hangs(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        client = connect(faulty, buffer_records=1)
        topic = client.topic(name)
        topic.append_many(numbered(9))
        behind, entering = topic.subscribe_from_beginning(), topic.subscribe_from_beginning()
        with behind:
            take(behind, 1)
            stall, entered = Stall(), Stall()
            faulty.always("read", stall)
            try:
                receiving = Background(lambda: _until_closed(behind))
                assert stall.reached.wait(PATIENCE)
                faulty.always("read", entered)
                enters = Background(entering.__enter__)
                assert entered.reached.wait(PATIENCE)
                closing = Background(client.close)
                receiving.result(timeout=5)
                with pytest.raises(DurableStreamUnavailableError):
                    enters.result(timeout=5)
            finally:
                faulty.heal()
                stall.release()
                entered.release()
            closing.result()

    def test_closing_one_subscription_leaves_the_others_alone(self, topic: Topic) -> None:
        with topic.subscribe_from_tail() as first, topic.subscribe_from_tail() as second:
            nothing(second)
            first.close()
            topic.append(b"x")
            assert payloads(take(second, 1)) == [b"x"]
            assert first.receive(timeout=0) is CLOSED

    def test_closing_leaves_the_topic_as_it_was(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append_many(numbered(3))
        before = store.tool.bounds(topic.name)
        with topic.subscribe_from_beginning() as subscription:
            take(subscription, 1)
        subscription.close()
        assert store.tool.bounds(topic.name) == before
        assert read_all(topic.subscribe_from_beginning(), 3) == numbered(3)

    def test_the_end_says_who_closed(self, topic: Topic) -> None:
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            assert subscription.end is None
        assert subscription.end is not None
        assert subscription.end.kind == "closed"
        assert subscription.end.error is None
        assert subscription.end.exception is None

    def test_closing_the_client_ends_its_waiting_readers(self, connect: Connect, name: str) -> None:
        client = connect()
        with client.topic(name).subscribe_from_tail() as subscription:
            nothing(subscription)
            waiting = Background(lambda: _ending(subscription))
            client.close()
            assert waiting.result(timeout=5) is CLOSED
            assert subscription.receive(timeout=0) is CLOSED

    def test_closing_the_client_while_it_opens_its_watch_does_not_wait(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        faulty.next("watch", Pause(0.3))
        client = connect(faulty)
        with client.topic(name).subscribe_from_tail() as subscription:
            nothing(subscription)
            Background(client.close).result(timeout=5)

    def test_closing_the_client_however_often_is_harmless(self, connect: Connect) -> None:
        client = connect()
        client.close()
        client.close()

    def test_closing_one_client_leaves_another_alone(self, streams: Client, connect: Connect, name: str) -> None:
        other = connect()
        with streams.topic(name).subscribe_from_tail() as subscription:
            other.topic(name).append(b"a")
            other.close()
            streams.topic(name).append(b"b")
            assert payloads(take(subscription, 2)) == [b"a", b"b"]

    def test_a_closed_client_gives_back_every_thread_and_file(self, connect: Connect, name: str) -> None:
        with no_leaks():
            client = connect()
            topic = client.topic(name)
            with topic.subscribe_from_tail() as subscription, topic.subscribe_from_beginning():
                topic.append(b"x")
                take(subscription, 1)
            client.close()

    def test_many_subscriptions_leave_nothing_behind(self, topic: Topic) -> None:
        topic.append(b"x")
        read_all(topic.subscribe_from_beginning(), 1)
        with no_leaks(pooled_files=10):
            for _ in range(100):
                topic.subscribe_from_tail()
                with topic.subscribe_from_beginning() as subscription:
                    take(subscription, 1)


def _ending(subscription: Subscription) -> object:
    # A closed client may be told as an end or as an error; hanging or a record would be wrong.
    try:
        return subscription.receive(timeout=PATIENCE)
    except DurableStreamUnavailableError:
        return CLOSED


def _seconds_to_unblock(subscription: Subscription) -> float:
    ended: list[float] = []
    about_to_wait = threading.Event()

    def wait() -> object:
        about_to_wait.set()
        answer = subscription.receive(timeout=PATIENCE)
        ended.append(time.monotonic())
        return answer

    with subscription:
        nothing(subscription)
        waiting = Background(wait)
        about_to_wait.wait(PATIENCE)
        closed = time.monotonic()
        subscription.close()
        assert waiting.result() is CLOSED
    return ended[0] - closed


def _seconds_to_leave(faulty: FaultyBackend, subscription: Subscription, wait: Callable[[], object]) -> float:
    """How long after a ``close`` somebody leaves who waits for a store that hangs."""
    stall = Stall()
    left: list[float] = []

    def leave() -> None:
        wait()
        left.append(time.monotonic())

    faulty.always("read", stall)
    try:
        waiting = Background(leave)
        assert stall.reached.wait(PATIENCE)
        closed = time.monotonic()
        subscription.close()
        waiting.result(timeout=PATIENCE)
    finally:
        faulty.heal()
        stall.release()
    return left[0] - closed


def _not_entered(subscription: Subscription) -> None:
    with pytest.raises(DurableStreamUnavailableError):
        subscription.__enter__()


def _until_closed(subscription: Subscription) -> None:
    while subscription.receive(timeout=PATIENCE) is not CLOSED:
        pass
