"""Failures: ridden out for the budget, told afterwards, never hidden, and never doubled."""

import time

import pytest

from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError, StoreUnusableError
from tailrace.records import CLOSED
from tailrace.testing.drivers import Driver, Subscription
from tailrace.testing.faults import Fail, FaultyBackend, LoseReply, Stall
from tailrace.testing.fixtures import Connect
from tailrace.testing.leaks import no_leaks
from tailrace.testing.outcome import not_run
from tailrace.testing.reading import PATIENCE, Background, nothing, numbered, payloads, read_all, take
from tailrace.testing.stores import StoreUnderTest


class DriverError(Exception):
    """What no adapter should let through."""


class TestOutage:
    def test_a_live_reader_rides_out_a_short_outage(self, connect: Connect, faulty: FaultyBackend, name: str) -> None:
        topic, writer = connect(faulty, poll_unsure=0.05).topic(name), connect().topic(name)
        with topic.subscribe_from_tail() as subscription:
            writer.append(b"0")
            take(subscription, 1)
            faulty.go_away()
            writer.append_many(numbered(3, 1))
            assert [subscription.receive(timeout=0.05) for _ in range(6)] == [None] * 6
            faulty.heal()
            assert payloads(take(subscription, 3)) == numbered(3, 1)

    def test_a_reader_that_is_catching_up_rides_out_a_short_outage(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, page_records=10, buffer_records=10).topic(name)
        topic.append_many(numbered(100))
        with topic.subscribe_from_beginning() as subscription:
            take(subscription, 10)
            faulty.next("read", Fail(), times=3)
            assert payloads(take(subscription, 90)) == numbered(90, 10)

    def test_past_the_budget_the_reader_is_told_and_it_is_over(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, outage_budget=0.3).topic(name)
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            faulty.go_away()
            started = time.monotonic()
            error = _failure(subscription)
            assert 0.2 < time.monotonic() - started < 5
            assert subscription.receive(timeout=0) is CLOSED
        assert subscription.end is not None
        assert (subscription.end.kind, subscription.end.exception) == ("failed", error)

    def test_while_the_budget_lasts_a_receive_returns_none_at_its_timeout(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, outage_budget=20.0).topic(name)
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            faulty.go_away()
            for _ in range(5):
                started = time.monotonic()
                assert subscription.receive(timeout=0.1) is None
                assert time.monotonic() - started < 5

    def test_without_a_budget_the_first_failure_is_told(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, outage_budget=0).topic(name)
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            faulty.next("read", Fail(), times=1)
            connect().topic(name).append(b"x")
            _failure(subscription)

    def test_the_budget_counts_from_the_first_failure_of_each_outage(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic, writer = connect(faulty, outage_budget=1.0, poll_unsure=0.05).topic(name), connect().topic(name)
        with topic.subscribe_from_tail() as subscription:
            for number in range(4):
                nothing(subscription)
                faulty.go_away()
                assert subscription.receive(timeout=0.4) is None
                faulty.heal()
                writer.append(b"%d" % number)
                assert payloads(take(subscription, 1)) == [b"%d" % number]

    def test_what_was_read_before_the_outage_is_delivered_before_the_error(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, outage_budget=0.2).topic(name)
        topic.append_many(numbered(5))
        with topic.subscribe_from_beginning() as subscription:
            take(subscription, 1)
            faulty.go_away()
            assert payloads(take(subscription, 4)) == numbered(4, 1)
            _failure(subscription)

    def test_after_the_error_the_cursor_resumes_exactly(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic, writer = connect(faulty, outage_budget=0.2).topic(name), connect().topic(name)
        with topic.subscribe_from_tail() as subscription:
            writer.append(b"0")
            take(subscription, 1)
            faulty.go_away()
            writer.append(b"1")
            _failure(subscription)
        faulty.heal()
        assert read_all(topic.subscribe_from_cursor(subscription.cursor), 1) == [b"1"]

    def test_an_outage_shows_in_the_stats_and_goes(self, connect: Connect, faulty: FaultyBackend, name: str) -> None:
        client, writer = connect(faulty, poll_unsure=0.05, outage_budget=PATIENCE), connect()
        with client.topic(name).subscribe_from_tail() as subscription:
            nothing(subscription)
            assert client.stats()["outage_seconds"] == 0
            faulty.go_away()
            deadline = time.monotonic() + PATIENCE
            while client.stats()["outage_seconds"] == 0:
                assert time.monotonic() < deadline, "the outage does not show"
                assert subscription.receive(timeout=0.05) is None
            faulty.heal()
            writer.topic(name).append(b"x")
            take(subscription, 1)
            assert client.stats()["outage_seconds"] == 0

    @pytest.mark.parametrize("start", ["subscribe_from_beginning", "subscribe_from_tail", "checkpoint"])
    def test_a_start_that_can_not_be_fixed_is_an_error(
        self, connect: Connect, faulty: FaultyBackend, name: str, start: str
    ) -> None:
        topic = connect(faulty).topic(name)
        faulty.go_away()
        with pytest.raises(DurableStreamUnavailableError):
            getattr(topic, start)()

    def test_a_cursor_that_can_not_be_checked_is_not_called_unavailable(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty).topic(name)
        cursor = topic.checkpoint()
        faulty.go_away()
        with pytest.raises(DurableStreamUnavailableError):
            topic.subscribe_from_cursor(cursor)

    def test_an_append_that_never_reached_the_store_says_that_a_retry_is_safe(
        self, connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest
    ) -> None:
        topic = connect(faulty).topic(name)
        faulty.next("append", Fail())
        with pytest.raises(DurableStreamUnavailableError) as caught:
            topic.append(b"x")
        assert caught.value.maybe_stored is False
        assert store.contents(name) == []

    def test_an_append_whose_reply_was_lost_says_so_and_is_not_sent_again(
        self, connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest
    ) -> None:
        topic = connect(faulty).topic(name)
        faulty.next("append", LoseReply())
        with pytest.raises(DurableStreamUnavailableError) as caught:
            topic.append(b"x")
        assert caught.value.maybe_stored is True
        assert (faulty.calls["append"], faulty.entries) == (1, 1)
        assert store.contents(name) == [b"x"]

    def test_a_lost_reply_ends_neither_readers_nor_later_appends(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, poll_unsure=0.05).topic(name)
        with topic.subscribe_from_tail() as subscription:
            faulty.next("append", LoseReply())
            with pytest.raises(DurableStreamUnavailableError):
                topic.append(b"lost reply")
            topic.append(b"next")
            assert payloads(take(subscription, 2)) == [b"lost reply", b"next"]

    @pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
    def test_no_foreign_exception_escapes_from_an_append(
        self, connect: Connect, faulty: FaultyBackend, name: str, after: bool
    ) -> None:
        topic = connect(faulty).topic(name)
        faulty.next("append", LoseReply(DriverError("secret")) if after else Fail(DriverError("secret")))
        with pytest.raises(DurableStreamUnavailableError) as caught:
            topic.append(b"x")
        # Nobody knows how far a call came that failed in an unknown way.
        assert caught.value.maybe_stored is True

    @pytest.mark.parametrize("error", [DriverError("secret"), OSError(5, "io"), TimeoutError(), ValueError()])
    @pytest.mark.parametrize("call", ["subscribe_from_tail", "subscribe_from_beginning", "checkpoint", "seal"])
    def test_no_foreign_exception_escapes(
        self, connect: Connect, faulty: FaultyBackend, name: str, call: str, error: Exception
    ) -> None:
        topic = connect(faulty).topic(name)
        faulty.next("bounds", Fail(error))
        faulty.next("seal", Fail(error))
        with pytest.raises(DurableStreamUnavailableError):
            getattr(topic, call)()

    def test_no_foreign_exception_escapes_from_receive(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, outage_budget=0).topic(name)
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            faulty.always("read", Fail(DriverError("secret")))
            connect().topic(name).append(b"x")
            _failure(subscription)

    def test_a_foreign_exception_from_the_watch_does_not_leave_readers_waiting(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, poll_unsure=0.05, outage_budget=1.0).topic(name)
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            faulty.next("wait", Fail(DriverError("secret")))
            connect().topic(name).append(b"x")
            try:
                assert payloads(take(subscription, 1)) == [b"x"]
            except DurableStreamUnavailableError:
                assert subscription.receive(timeout=0) is CLOSED
        cursor = topic.checkpoint()
        connect().topic(name).append(b"y")
        with topic.subscribe_from_cursor(cursor) as later:
            assert payloads(take(later, 1)) == [b"y"]
            connect().topic(name).append(b"z")
            assert payloads(take(later, 1)) == [b"z"]

    def test_waiting_is_no_answer_to_a_store_that_is_unusable(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, outage_budget=PATIENCE).topic(name)
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            faulty.always("read", Fail(StoreUnusableError("read-only")))
            connect().topic(name).append(b"x")
            started = time.monotonic()
            assert isinstance(_failure(subscription), StoreUnusableError)
            assert time.monotonic() - started < PATIENCE / 2

    def test_lost_hints_cost_time_only(self, connect: Connect, faulty: FaultyBackend, name: str) -> None:
        topic, writer = connect(faulty, poll_unsure=0.1, poll_healthy=0.1).topic(name), connect().topic(name)
        faulty.hints = False
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            for number in range(3):
                writer.append(b"%d" % number)
                assert payloads(take(subscription, 1)) == [b"%d" % number]

    @pytest.mark.parametrize("method", ["wait", "follow", "watch"])
    def test_a_watch_that_dies_costs_time_only(
        self, connect: Connect, faulty: FaultyBackend, name: str, method: str
    ) -> None:
        topic, writer = connect(faulty, poll_unsure=0.1).topic(name), connect().topic(name)
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            faulty.next(method, Fail(), times=2)  # type: ignore[arg-type]
            with topic.subscribe_from_tail() as later:
                writer.append(b"x")
                assert payloads(take(subscription, 1)) == payloads(take(later, 1)) == [b"x"]

    def test_an_append_that_waits_behind_a_stalled_one_leaves_in_time(
        self, connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest
    ) -> None:
        topic = connect(faulty, append_timeout=0.5).topic(name)
        stall = Stall()
        faulty.next("append", stall)
        first = Background(lambda: topic.append(b"first"))
        assert stall.reached.wait(PATIENCE)
        started = time.monotonic()
        with pytest.raises(DurableStreamUnavailableError) as caught:
            topic.append(b"second")
        assert 0.4 < time.monotonic() - started < 5
        assert caught.value.maybe_stored is False
        stall.release()
        _ignoring(first)
        topic.append(b"third")
        assert store.contents(name) == [b"first", b"third"]

    def test_an_interrupted_append_raises_the_interrupt_and_harms_nobody(
        self, connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest, driver: Driver
    ) -> None:
        if not driver.callers_send:
            not_run("a worker sends for its callers, and nothing interrupts a worker")
        topic = connect(faulty).topic(name)
        faulty.next("append", Fail(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            topic.append(b"interrupted")
        topic.append(b"next")
        assert store.contents(name) == [b"next"]

    def test_entering_during_an_outage_is_an_error_and_releases_everything(
        self, connect: Connect, faulty: FaultyBackend, name: str
    ) -> None:
        topic = connect(faulty, outage_budget=0).topic(name)
        topic.append(b"x")
        with topic.subscribe_from_beginning() as warm:
            take(warm, 1)
            nothing(warm)
        with no_leaks(pooled_files=10):
            for _ in range(20):
                subscription = topic.subscribe_from_beginning()
                faulty.always("read", Fail())
                with pytest.raises(DurableStreamUnavailableError):
                    subscription.__enter__()
                assert subscription.receive(timeout=0) is CLOSED
                faulty.heal()

    def test_a_loss_during_an_outage_is_told_as_a_loss(
        self, connect: Connect, faulty: FaultyBackend, name: str, store: StoreUnderTest
    ) -> None:
        topic, writer = connect(faulty, poll_unsure=0.05).topic(name), connect().topic(name)
        with topic.subscribe_from_tail() as subscription:
            writer.append(b"0")
            take(subscription, 1)
            faulty.go_away()
            writer.append_many(numbered(5, 1))
            store.trim(name, keep=2)
            assert subscription.receive(timeout=0.2) is None
            faulty.heal()
            with pytest.raises(CursorUnavailableError):
                take(subscription, 1)


def _failure(subscription: Subscription) -> DurableStreamUnavailableError:
    """Return the error that ends a subscription to which nothing is delivered."""
    deadline = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline:
            assert subscription.receive(timeout=0.5) is None
    except DurableStreamUnavailableError as error:
        return error
    pytest.fail("the outage was never told")


def _ignoring(call: Background[None]) -> None:
    # Its own deadline passed while the store stalled: stored or unknown are both right.
    try:
        call.result()
    except DurableStreamUnavailableError as error:
        assert error.maybe_stored is True  # noqa: PT017
