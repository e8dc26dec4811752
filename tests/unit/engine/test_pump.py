"""The pump over a store whose hints and reads can be broken."""

import threading
import time
from collections.abc import Callable, Collection, Sequence

import pytest

from tailrace import CLOSED, CursorUnavailableError, DurableStreamUnavailableError, EngineOptions, StreamClient
from tailrace.backends.memory import MemoryStore
from tailrace.engine.backoff import FIRST_DELAY
from tailrace.errors import StoreUnusableError
from tailrace.records import DurableStreamRecord
from tailrace.spi import ReadOutcome, ReadRequest, Watch
from tailrace.subscription import Subscription


class BreakableStore(MemoryStore):
    """A memory store whose reads and watches fail while they are told to."""

    def __init__(self, beside: MemoryStore | None = None) -> None:
        super().__init__(beside=beside)
        self.read_error: BaseException | None = None
        self.watch_error: BaseException | None = None
        self.failed_reads = threading.Semaphore(0)

    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        if self.read_error is not None:
            self.failed_reads.release()
            raise self.read_error
        return super().read(requests)

    def watch(self) -> Watch:
        if self.watch_error is not None:
            raise self.watch_error
        return super().watch()


class UnfollowableStore(MemoryStore):
    """A memory store whose watches open, and refuse to follow anything."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []
        self.refused = threading.Semaphore(0)

    def watch(self) -> Watch:
        watch = super().watch()
        watch.follow = self._refuse  # type: ignore[method-assign]
        return watch

    def _refuse(self, added: Collection[str], dropped: Collection[str]) -> None:
        self.asked.append(time.monotonic())
        self.refused.release()
        raise DurableStreamUnavailableError("not allowed")


def payload(subscription: Subscription, timeout: float = 10.0) -> bytes:
    record = subscription.receive(timeout)
    assert isinstance(record, DurableStreamRecord)
    return record.payload


def live(client: StreamClient, subscription: Subscription) -> None:
    """Wait until a subscription that was just entered is at the tail and read by the pump."""
    eventually(lambda: client.stats()["live_subscriptions"] == 1 and client.stats()["hints_arrive"] is not None)


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline, "it has not come to that"
        time.sleep(0.001)


def test_no_thread_runs_before_the_first_reader_is_live_and_none_after_close() -> None:
    before = threading.active_count()
    client = StreamClient(MemoryStore())
    client.topic("t").append(b"a")
    assert threading.active_count() == before

    with client.topic("t").subscribe_from_beginning():
        assert threading.active_count() == before + 1
    client.close()

    assert threading.active_count() == before


def test_a_store_that_can_not_give_hints_is_polled() -> None:
    store = BreakableStore()
    store.watch_error = DurableStreamUnavailableError("no hints")
    other = MemoryStore(beside=store)
    with StreamClient(store, options=EngineOptions(poll_unsure=0.05)) as client:
        with client.topic("t").subscribe_from_tail() as subscription:
            live(client, subscription)
            with StreamClient(other) as elsewhere:
                elsewhere.topic("t").append(b"unannounced")
            assert payload(subscription) == b"unannounced"
            assert client.stats()["hints_arrive"] is False


def test_hints_come_back_when_the_store_gives_them_again() -> None:
    store = BreakableStore()
    store.watch_error = DurableStreamUnavailableError("no hints")
    with StreamClient(store, options=EngineOptions(poll_unsure=0.05)) as client:
        with client.topic("t").subscribe_from_tail() as subscription:
            live(client, subscription)
            store.watch_error = None
            eventually(lambda: client.stats()["hints_arrive"] is True)
            client.topic("t").append(b"a")
            assert payload(subscription) == b"a"


def test_a_watch_that_opens_and_can_not_follow_is_tried_less_and_less_often(caplog: pytest.LogCaptureFixture) -> None:
    store = UnfollowableStore()
    with StreamClient(store, options=EngineOptions(poll_unsure=30.0)) as client:
        with client.topic("t").subscribe_from_tail():
            for _ in range(6):
                assert store.refused.acquire(timeout=10.0)
            asked = list(store.asked)
            assert client.stats()["hints_arrive"] is False
    assert asked[5] - asked[4] > 0.75 * FIRST_DELAY * 2**4
    assert len([record for record in caplog.records if "interrupted" in record.message]) == 1


def test_a_short_outage_of_reads_is_ridden_out_without_loss() -> None:
    store = BreakableStore()
    with StreamClient(store) as client, client.topic("t").subscribe_from_tail() as subscription:
        live(client, subscription)
        store.read_error = DurableStreamUnavailableError("away")
        client.topic("t").append(b"a")
        assert subscription.receive(0.05) is None
        assert store.failed_reads.acquire(timeout=10.0)
        outage = client.stats()["outage_seconds"]
        assert isinstance(outage, float)
        assert outage > 0
        store.read_error = None
        assert payload(subscription) == b"a"
        assert client.stats()["outage_seconds"] == 0.0


@pytest.mark.parametrize("behind", [False, True])
def test_an_outage_past_the_budget_raises_once_then_closed(behind: bool) -> None:
    store = BreakableStore()
    with StreamClient(store, options=EngineOptions(outage_budget=0.2, page_records=1, buffer_records=1)) as client:
        client.topic("t").append_many([b"0", b"1", b"2"])
        start = client.topic("t").subscribe_from_beginning if behind else client.topic("t").subscribe_from_tail
        with start() as subscription:
            if behind:
                assert payload(subscription) == b"0"
            else:
                live(client, subscription)
            store.read_error = DurableStreamUnavailableError("away")
            client.topic("t").append(b"3")
            with pytest.raises(DurableStreamUnavailableError, match="away"):
                subscription.receive(10.0)
            assert subscription.receive(0) is CLOSED
            assert subscription.end is not None
            assert subscription.end.kind == "failed"


def test_a_store_that_waiting_can_not_mend_ends_a_live_reader_at_once() -> None:
    store = BreakableStore()
    with StreamClient(store) as client, client.topic("t").subscribe_from_tail() as subscription:
        live(client, subscription)
        store.read_error = StoreUnusableError("not a database any more")
        client.topic("t").append(b"a")
        with pytest.raises(StoreUnusableError):
            subscription.receive(5.0)


def test_a_pump_that_dies_ends_its_readers_instead_of_leaving_them_waiting(caplog: pytest.LogCaptureFixture) -> None:
    store = BreakableStore()
    with StreamClient(store) as client, client.topic("t").subscribe_from_tail() as subscription:
        live(client, subscription)
        store.read_error = SystemExit("killed")
        client.topic("t").append(b"a")
        with pytest.raises(DurableStreamUnavailableError):
            subscription.receive(10.0)
        store.read_error = None
        with client.topic("t").subscribe_from_tail() as later:
            live(client, later)
            client.topic("t").append(b"b")
            assert payload(later) == b"b"
    assert "the pump died" in caplog.text


def test_a_watch_that_raises_a_foreign_exception_costs_only_time(caplog: pytest.LogCaptureFixture) -> None:
    store = BreakableStore()
    store.watch_error = RuntimeError("driver")
    with StreamClient(store, options=EngineOptions(poll_unsure=0.05)) as client:
        with client.topic("t").subscribe_from_tail() as subscription:
            live(client, subscription)
            client.topic("t").append(b"a")
            assert payload(subscription) == b"a"
    assert "did not map" in caplog.text


def test_what_is_already_buffered_is_delivered_before_the_error() -> None:
    store = BreakableStore()
    with StreamClient(store, options=EngineOptions(outage_budget=0.2, page_records=4)) as client:
        topic = client.topic("t")
        topic.append_many([b"%d" % number for number in range(6)])
        with topic.subscribe_from_beginning() as subscription:
            store.read_error = DurableStreamUnavailableError("away")
            assert [payload(subscription) for _ in range(4)] == [b"0", b"1", b"2", b"3"]
            with pytest.raises(DurableStreamUnavailableError):
                subscription.receive(10.0)
            store.read_error = None
            with topic.subscribe_from_cursor(subscription.cursor) as resumed:
                assert [payload(resumed) for _ in range(2)] == [b"4", b"5"]


def test_a_live_reader_is_told_when_its_topic_is_deleted_and_created_again() -> None:
    store = MemoryStore()
    with StreamClient(store) as client:
        topic = client.topic("t")
        topic.append(b"first life")
        with topic.subscribe_from_tail() as subscription:
            live(client, subscription)
            store.delete("t")
            with pytest.raises(CursorUnavailableError):
                subscription.receive(10.0)
            assert subscription.receive(0) is CLOSED


def test_closing_the_client_closes_every_subscription() -> None:
    client = StreamClient(MemoryStore())
    answers: list[object] = []
    with client.topic("t").subscribe_from_tail() as subscription:
        live(client, subscription)
        thread = threading.Thread(target=lambda: answers.append(subscription.receive(30.0)))
        thread.start()
        client.close()
        thread.join(10.0)

        assert answers == [CLOSED]
        with pytest.raises(DurableStreamUnavailableError):
            client.topic("t").append(b"a")
        with pytest.raises(DurableStreamUnavailableError):
            client.topic("t").subscribe_from_tail()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_subscription_that_is_dropped_unclosed_warns_and_is_released() -> None:
    with StreamClient(MemoryStore()) as client:
        subscription = client.topic("t").subscribe_from_tail().__enter__()
        live(client, subscription)
        with pytest.warns(ResourceWarning, match="unclosed subscription"):
            del subscription
        client.topic("t").append(b"a")
        eventually(lambda: client.stats()["live_subscriptions"] == 0)


def refuse_threads(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the next thread not start."""
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        monkeypatch.setattr(threading.Thread, "start", start)
        raise error

    monkeypatch.setattr(threading.Thread, "start", refuse)


def test_a_process_that_can_have_no_more_threads_ends_the_reader_with_our_error_and_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = StreamClient(MemoryStore())
    topic = client.topic("t")
    refuse_threads(monkeypatch, RuntimeError("can't start new thread"))

    with topic.subscribe_from_tail() as subscription:
        with pytest.raises(DurableStreamUnavailableError, match="could not be started"):
            subscription.receive(10.0)
        assert subscription.receive(0) is CLOSED

    with topic.subscribe_from_tail() as subscription:
        topic.append(b"a")
        assert payload(subscription) == b"a"
    client.close()


def test_an_interrupt_while_the_loop_is_started_leaves_nobody_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    client = StreamClient(MemoryStore())
    topic = client.topic("t")
    refuse_threads(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt), topic.subscribe_from_tail():
        pass

    with topic.subscribe_from_tail() as subscription:
        topic.append(b"a")
        assert payload(subscription) == b"a"
    client.close()


def test_closing_the_client_while_the_loop_is_started_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    client = StreamClient(MemoryStore())
    start, starting, go = threading.Thread.start, threading.Event(), threading.Event()

    def slow(thread: threading.Thread) -> None:
        if thread.name == "tailrace-pump":
            starting.set()
            go.wait(10.0)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", slow)
    subscription = client.topic("t").subscribe_from_tail()
    failed: list[BaseException] = []

    def close() -> None:
        try:
            client.close()
        except BaseException as exc:  # noqa: BLE001 - looked at below
            failed.append(exc)

    entering = threading.Thread(target=subscription.__enter__)
    closing = threading.Thread(target=close)
    entering.start()
    assert starting.wait(10.0)
    closing.start()
    closing.join(0.2)
    go.set()
    entering.join(10.0)
    closing.join(10.0)

    assert not failed
    assert not closing.is_alive()
    assert subscription.receive(0) is CLOSED
