"""Events, hooks and sinks."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

import prometheus_client
import pytest

import tailrace
from tailrace.backends.memory import MemoryStore
from tailrace.instrument import (
    Event,
    HintsInterrupted,
    HintsRestored,
    OutageBegan,
    OutageEnded,
    RecordsAppended,
    RecordsNotAppended,
    SubscriptionEnded,
    SubscriptionStarted,
    log_events,
    prometheus_events,
)
from tailrace.spi import ReadOutcome, ReadRequest, Watch


class Flaky(MemoryStore):
    """Fails reads and watches while told to."""

    away = False

    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        if self.away:
            raise tailrace.DurableStreamUnavailableError("away")
        return super().read(requests)

    def watch(self) -> Watch:
        if self.away:
            raise tailrace.DurableStreamUnavailableError("away")
        return super().watch()


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline, "it has not come to that"
        time.sleep(0.001)


def life(streams: tailrace.StreamClient) -> None:
    """Append, read, fail to append."""
    topic = streams.topic("t")
    with topic.subscribe_from_tail() as subscription:
        topic.append_many([b"12", b"3"])
        assert subscription.receive(5) is not None
    topic.seal()
    with pytest.raises(tailrace.TopicSealedError):
        topic.append(b"too late")


def test_a_hook_sees_what_happened_in_order() -> None:
    events: list[Event] = []
    with tailrace.connect("memory://", hooks=[events.append]) as streams:
        life(streams)

    kinds = [type(event) for event in events]
    assert kinds == [SubscriptionStarted, RecordsAppended, SubscriptionEnded, RecordsNotAppended]
    started, appended, ended, refused = events
    assert started == SubscriptionStarted("t")
    assert isinstance(appended, RecordsAppended)
    assert (appended.topic, appended.records, appended.bytes) == ("t", 2, 3)
    assert 0 < appended.seconds < 60
    assert ended == SubscriptionEnded("t", tailrace.StreamEnd("closed"))
    assert isinstance(refused, RecordsNotAppended)
    assert (refused.records, refused.maybe_stored) == (1, False)


def test_an_outage_and_lost_hints_are_told_once_with_their_ends() -> None:
    events: list[Event] = []
    store = Flaky()
    store.away = True
    with tailrace.StreamClient(store, hooks=[events.append]) as streams:
        store.away = False
        topic = streams.topic("t")
        with topic.subscribe_from_tail() as subscription:
            topic.append(b"1")
            assert subscription.receive(10) is not None
            store.away = True
            topic.append(b"2")
            eventually(lambda: any(isinstance(event, OutageBegan) for event in events))
            store.away = False
            assert subscription.receive(10) is not None
            eventually(lambda: any(isinstance(event, OutageEnded) for event in events))

    kinds = [type(event) for event in events if isinstance(event, OutageBegan | OutageEnded)]
    assert kinds == [OutageBegan, OutageEnded]


def test_hints_that_are_lost_and_come_back_are_told() -> None:
    events: list[Event] = []
    store = Flaky()
    with tailrace.StreamClient(store, hooks=[events.append]) as streams:
        subscription = streams.topic("t").subscribe_from_tail()
        with subscription:
            eventually(lambda: streams.stats()["hints_arrive"] is True)
            watch = streams._engine._pump._hints._watch
            assert watch is not None

            def fail(timeout: float) -> None:
                raise ConnectionError

            store.away = True
            watch.wait = fail  # type: ignore[method-assign, assignment]
            watch.interrupt()
            eventually(lambda: any(isinstance(event, HintsInterrupted) for event in events))
            store.away = False
            eventually(lambda: any(isinstance(event, HintsRestored) for event in events))

    kinds = [type(event) for event in events if isinstance(event, HintsInterrupted | HintsRestored)]
    assert kinds == [HintsInterrupted, HintsRestored]


def test_a_hook_that_fails_is_logged_and_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = []

    def broken(event: Event, /) -> None:
        raise RuntimeError("in the hook")

    with tailrace.connect("memory://", hooks=[broken, events.append]) as streams:
        life(streams)

    assert len(events) == 4
    assert "a hook failed on RecordsAppended" in caplog.text


def test_no_event_holds_a_payload_or_a_cursor() -> None:
    events: list[Event] = []
    with tailrace.connect("memory://", hooks=[events.append]) as streams:
        topic = streams.topic("t")
        with topic.subscribe_from_beginning() as subscription:
            topic.append(b"secret payload")
            record = subscription.receive(5)
            assert isinstance(record, tailrace.DurableStreamRecord)

    assert "secret payload" not in repr(events)
    assert record.cursor not in repr(events)


def test_the_log_sink_warns_of_what_is_wrong_and_whispers_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tailrace.events")
    hook = log_events()
    for event in (
        RecordsAppended("t", 1, 2, 0.1),
        RecordsNotAppended("t", 1, True, "why", 0.1),
        SubscriptionStarted("t"),
        SubscriptionEnded("t", tailrace.StreamEnd("sealed")),
        SubscriptionEnded("t", tailrace.StreamEnd("failed", "lost", tailrace.CursorUnavailableError("lost"))),
        OutageBegan("why"),
        OutageEnded(1.0),
        HintsInterrupted("why"),
        HintsRestored(),
    ):
        hook(event)

    levels = [record.levelname for record in caplog.records]
    assert levels == ["DEBUG", "WARNING", "DEBUG", "DEBUG", "WARNING", "WARNING", "WARNING", "WARNING", "DEBUG"]


def test_the_prometheus_sink_counts() -> None:
    registry = prometheus_client.CollectorRegistry()
    with tailrace.connect("memory://", hooks=[prometheus_events(registry)]) as streams:
        life(streams)

    value = registry.get_sample_value
    assert value("tailrace_records_appended_total") == 2
    assert value("tailrace_records_not_appended_total", {"maybe_stored": "false"}) == 1
    assert value("tailrace_append_seconds_count") == 1
    assert value("tailrace_subscriptions") == 0
    assert value("tailrace_subscriptions_ended_total", {"kind": "closed"}) == 1


def test_importing_the_package_imports_no_metrics_library() -> None:
    import subprocess
    import sys

    code = "import sys, tailrace, tailrace.instrument; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_events_come_from_many_threads_at_once() -> None:
    events: list[Event] = []
    with tailrace.connect("memory://", hooks=[events.append]) as streams:
        topic = streams.topic("t")
        threads = [threading.Thread(target=lambda: [topic.append(b"x") for _ in range(50)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sum(event.records for event in events if isinstance(event, RecordsAppended)) == 200
