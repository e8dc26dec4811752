"""Group commit: who leads, what is sent together, and what an interruption or a slow store does to whom."""

import threading
from collections.abc import Callable, Sequence

import pytest

from tailrace.backends.memory import MemoryStore
from tailrace.engine.appender import Appender
from tailrace.engine.ticket import Ticket
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import EngineOptions
from tailrace.spi import Appended, AppendOutcome, AppendRefused, AppendUnknown, Backend, Boundary, Entry
from tailrace.testing.servers.waiting import until


class ScriptedStore:
    """Records what it is sent; each call is answered by the next script, the last one for good."""

    def __init__(self, *scripts: Callable[[Sequence[Entry]], Sequence[AppendOutcome]]) -> None:
        self.calls: list[list[bytes]] = []
        self.timeouts: list[float] = []
        self._scripts = list(scripts) or [accept]

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        self.calls.append([payload for entry in entries for payload in entry.payloads])
        self.timeouts.append(timeout)
        script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        return script(entries)


def accept(entries: Sequence[Entry]) -> Sequence[AppendOutcome]:
    return [Appended(Boundary(1, 1, 1)) for _ in entries]


class Callers:
    """Threads that each append one payload, started so that their order in the queue is known."""

    def __init__(self, appender: Appender) -> None:
        self.appender = appender
        self.outcomes: dict[bytes, AppendOutcome | BaseException] = {}
        self.threads: list[threading.Thread] = []

    def start(self, payload: bytes) -> None:
        def call() -> None:
            try:
                self.outcomes[payload] = self.appender.append(Entry("t", [payload]))
            except BaseException as exc:  # noqa: BLE001
                self.outcomes[payload] = exc

        queued = len(self.appender._main.queue)
        thread = threading.Thread(target=call, daemon=True)
        self.threads.append(thread)
        thread.start()
        until(lambda: len(self.appender._main.queue) > queued, "it stands in the queue", step=0.001)

    def finish(self) -> None:
        for thread in self.threads:
            thread.join(10.0)
        assert not [thread for thread in self.threads if thread.is_alive()]


def stalled_appender(
    first: Callable[[Sequence[Entry]], Sequence[AppendOutcome]], **options: float
) -> tuple[ScriptedStore, Appender, threading.Event]:
    """An appender whose first call stays in the store until the event is set."""
    release = threading.Event()

    def stall(entries: Sequence[Entry]) -> Sequence[AppendOutcome]:
        assert release.wait(60.0)
        return first(entries)

    store = ScriptedStore(stall, accept)
    return store, Appender(as_backend(store), EngineOptions(**options)), release  # type: ignore[arg-type]


def as_backend(store: object) -> Backend:
    return store  # type: ignore[return-value]


def lead_first(callers: Callers, store: ScriptedStore) -> None:
    thread = threading.Thread(target=lambda: _call(callers, b"leader"), daemon=True)
    callers.threads.append(thread)
    thread.start()
    until(lambda: bool(store.calls), "it is in the store", step=0.001)


def _call(callers: Callers, payload: bytes) -> None:
    try:
        callers.outcomes[payload] = callers.appender.append(Entry("t", [payload]))
    except BaseException as exc:  # noqa: BLE001
        callers.outcomes[payload] = exc


def test_a_lone_caller_is_sent_at_once_by_itself() -> None:
    store = ScriptedStore()

    outcome = Appender(as_backend(store), EngineOptions()).append(Entry("t", [b"a"]))

    assert isinstance(outcome, Appended)
    assert store.calls == [[b"a"]]


def test_callers_that_come_during_a_call_share_the_next_one_in_order() -> None:
    store, appender, release = stalled_appender(accept)
    callers = Callers(appender)
    lead_first(callers, store)
    for payload in (b"1", b"2", b"3"):
        callers.start(payload)

    release.set()
    callers.finish()

    assert store.calls == [[b"leader"], [b"1", b"2", b"3"]]
    assert all(isinstance(outcome, Appended) for outcome in callers.outcomes.values())


def test_a_batch_is_bounded_by_records_and_the_rest_follows() -> None:
    store, appender, release = stalled_appender(accept, batch_records=2)
    callers = Callers(appender)
    lead_first(callers, store)
    for payload in (b"1", b"2", b"3"):
        callers.start(payload)

    release.set()
    callers.finish()

    assert store.calls == [[b"leader"], [b"1", b"2"], [b"3"]]


def test_one_refused_entry_does_not_decide_its_neighbours() -> None:
    refusal = AppendRefused(DurableStreamUnavailableError("no"))

    def refuse_second(entries: Sequence[Entry]) -> Sequence[AppendOutcome]:
        return [refusal if entry.payloads == [b"2"] else Appended(Boundary(1, 1, 1)) for entry in entries]

    release = threading.Event()

    def stall(entries: Sequence[Entry]) -> Sequence[AppendOutcome]:
        assert release.wait(60.0)
        return accept(entries)

    store = ScriptedStore(stall, refuse_second)
    callers = Callers(Appender(as_backend(store), EngineOptions()))
    lead_first(callers, store)
    for payload in (b"1", b"2", b"3"):
        callers.start(payload)
    release.set()
    callers.finish()

    assert callers.outcomes[b"2"] is refusal
    assert isinstance(callers.outcomes[b"1"], Appended)
    assert isinstance(callers.outcomes[b"3"], Appended)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupted_leader_leaves_its_batch_unknown_and_nobody_hanging(interruption: type[BaseException]) -> None:
    release = threading.Event()

    def stall(entries: Sequence[Entry]) -> Sequence[AppendOutcome]:
        assert release.wait(60.0)
        return accept(entries)

    def interrupt(entries: Sequence[Entry]) -> Sequence[AppendOutcome]:
        raise interruption

    store = ScriptedStore(stall, interrupt, accept)
    callers = Callers(Appender(as_backend(store), EngineOptions(batch_records=3)))
    lead_first(callers, store)
    for payload in (b"1", b"2", b"3", b"4", b"5"):
        callers.start(payload)
    release.set()
    callers.finish()

    assert store.calls == [[b"leader"], [b"1", b"2", b"3"], [b"4", b"5"]]
    assert [type(callers.outcomes[payload]) for payload in (b"1", b"2")] == [AppendUnknown, AppendUnknown]
    assert isinstance(callers.outcomes[b"3"], interruption)
    assert [type(callers.outcomes[payload]) for payload in (b"4", b"5")] == [Appended, Appended]


def test_a_caller_whose_turn_does_not_come_in_time_is_refused_and_never_sent() -> None:
    store, appender, release = stalled_appender(accept, append_timeout=0.05)
    callers = Callers(appender)
    lead_first(callers, store)
    outcome = appender.append(Entry("t", [b"late"]))

    release.set()
    callers.finish()

    assert isinstance(outcome, AppendRefused)
    assert not outcome.error.maybe_stored
    assert store.calls == [[b"leader"]]


def test_a_caller_whose_batch_is_with_the_store_too_long_is_told_that_it_is_unknown() -> None:
    release, second = threading.Event(), threading.Event()

    def stall_first(entries: Sequence[Entry]) -> Sequence[AppendOutcome]:
        assert release.wait(60.0)
        return accept(entries)

    def stall_second(entries: Sequence[Entry]) -> Sequence[AppendOutcome]:
        assert second.wait(60.0)
        return accept(entries)

    store = ScriptedStore(stall_first, stall_second)
    callers = Callers(Appender(as_backend(store), EngineOptions(append_timeout=2.0)))
    lead_first(callers, store)
    callers.start(b"follower")
    callers.start(b"next leader")
    release.set()
    callers.threads[1].join(10.0)
    outcome = callers.outcomes[b"follower"]
    second.set()
    callers.finish()

    assert isinstance(outcome, AppendUnknown)
    assert outcome.error.maybe_stored
    assert store.calls == [[b"leader"], [b"follower", b"next leader"]]


def test_an_exception_that_the_store_did_not_map_is_unknown_for_the_whole_batch() -> None:
    def explode(entries: Sequence[Entry]) -> Sequence[AppendOutcome]:
        raise RuntimeError("driver")

    outcome = Appender(as_backend(ScriptedStore(explode)), EngineOptions()).append(Entry("t", [b"a"]))

    assert isinstance(outcome, AppendUnknown)
    assert isinstance(outcome.error.__cause__, RuntimeError)


def test_after_close_nothing_is_sent() -> None:
    store = ScriptedStore()
    appender = Appender(as_backend(store), EngineOptions())
    appender.close()

    assert isinstance(appender.append(Entry("t", [b"a"])), AppendRefused)
    assert store.calls == []


def test_a_leader_gathers_the_callers_it_has_just_woken_when_the_store_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tailrace.engine.lane.GATHER_AT_MOST", 60.0)
    store = ScriptedStore()
    appender = Appender(as_backend(store), EngineOptions())
    appender._main.last_size, appender._main.last_seconds = 2, 100.0
    callers = Callers(appender)
    thread = threading.Thread(target=lambda: _call(callers, b"leader"), daemon=True)
    callers.threads.append(thread)
    thread.start()
    until(lambda: appender._main._gathering is not None, "it gathers", step=0.001)
    _call(callers, b"woken")
    callers.finish()

    assert store.calls == [[b"leader", b"woken"]]


def test_a_leader_interrupted_while_it_takes_its_batch_does_not_stop_later_appends() -> None:
    store = ScriptedStore(accept)
    appender = Appender(as_backend(store), EngineOptions(append_timeout=1.0))
    ordinary = appender._main.queue

    class Interrupting(type(ordinary)):  # type: ignore[misc]
        def popleft(self) -> object:
            appender._main.queue = ordinary
            ordinary.extend(self)
            raise KeyboardInterrupt

    appender._main.queue = Interrupting()

    with pytest.raises(KeyboardInterrupt):
        appender.append(Entry("t", [b"interrupted"]))

    assert isinstance(appender.append(Entry("t", [b"later"])), Appended)
    assert store.calls == [[b"later"]]


def test_a_leader_behind_somebody_who_was_interrupted_while_it_queued_sends_its_own_record_too() -> None:
    store = MemoryStore()
    appender = Appender(store, EngineOptions(batch_records=2))
    # Queued, and interrupted before it became the leader; it takes itself out only after the next one has come.
    appender._main.queue.append(Ticket(Entry("t", [b"left"]), float("inf"), lambda: None, lambda: None))

    outcome = appender.append(Entry("t", [b"a", b"b", b"c"]))

    assert isinstance(outcome, Appended)
    assert outcome.end.position == 4
    assert not appender._main.queue
