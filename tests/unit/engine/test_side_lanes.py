"""Topics that somebody else holds locked: their appends wait aside, and nobody else waits for them."""

import threading
import time
from collections.abc import Callable, Sequence

import pytest

from tailrace.engine.appender import Appender
from tailrace.engine.lane import LOCKED
from tailrace.engine.sidings import WAITING_LANES
from tailrace.engine.ticket import Ticket
from tailrace.options import EngineOptions
from tailrace.spi import AppendDeferred, Appended, AppendOutcome, AppendRefused, Boundary, Entry
from tailrace.testing.servers.waiting import until

PATIENCE = 10.0


class LockingStore:
    """Topics can be locked. Whoever may wait for one waits until it is released, or for as long as it has time."""

    def __init__(self) -> None:
        self.stored: list[tuple[str, bytes]] = []
        self.waiting: list[str] = []
        self.most_waiting = 0
        self._locks: dict[str, threading.Event] = {}
        self._changed = threading.Condition()

    def lock(self, *topics: str) -> None:
        self._locks |= {topic: threading.Event() for topic in topics}

    def release(self, topic: str) -> None:
        self._locks[topic].set()

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        return [self._append_one(entry, time.monotonic() + timeout) for entry in entries]

    def until_waiting(self, *topics: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: set(topics) <= set(self.waiting), PATIENCE), self.waiting

    def _append_one(self, entry: Entry, deadline: float) -> AppendOutcome:
        lock = self._locks.get(entry.topic)
        if lock is not None and not lock.is_set():
            if not entry.may_wait:
                return AppendDeferred()
            self._note(entry.topic, waits=True)
            released = lock.wait(deadline - time.monotonic())
            self._note(entry.topic, waits=False)
            if not released:
                return AppendDeferred()
        self.stored += [(entry.topic, payload) for payload in entry.payloads]
        return Appended(Boundary(1, len(self.stored), 1))

    def _note(self, topic: str, *, waits: bool) -> None:
        with self._changed:
            (self.waiting.append if waits else self.waiting.remove)(topic)
            self.most_waiting = max(self.most_waiting, len(set(self.waiting)))
            self._changed.notify_all()


class Calls:
    """Appends in threads, and what became of them."""

    def __init__(self, appender: Appender) -> None:
        self.appender = appender
        self.outcomes: dict[bytes, AppendOutcome] = {}
        self._threads: list[threading.Thread] = []

    def start(self, topic: str, payload: bytes) -> None:
        def call() -> None:
            self.outcomes[payload] = self.appender.append(Entry(topic, [payload], may_wait=False))

        self._threads.append(threading.Thread(target=call, daemon=True))
        self._threads[-1].start()

    def finish(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.fixture
def store() -> LockingStore:
    return LockingStore()


def appender_on(store: LockingStore, **options: float) -> Appender:
    return Appender(store, EngineOptions(**options))  # type: ignore[arg-type]


def test_a_topic_that_is_locked_delays_no_other(store: LockingStore) -> None:
    appender = appender_on(store)
    store.lock("locked")
    calls = Calls(appender)
    calls.start("locked", b"late")
    store.until_waiting("locked")
    for number in range(20):
        assert isinstance(appender.append(Entry("free", [b"%d" % number], may_wait=False)), Appended)
    assert b"late" not in calls.outcomes
    store.release("locked")
    calls.finish()
    assert isinstance(calls.outcomes[b"late"], Appended)
    assert store.stored[-1] == ("locked", b"late")


def test_what_is_appended_to_a_locked_topic_meanwhile_queues_behind(store: LockingStore) -> None:
    appender = appender_on(store)
    store.lock("t")
    calls = Calls(appender)
    calls.start("t", b"0")
    store.until_waiting("t")
    for number in range(1, 6):
        calls.start("t", b"%d" % number)
        _until(lambda wanted=number: queued(appender, "t") == wanted)
    before = appender.batches
    store.release("t")
    calls.finish()
    assert [payload for _, payload in store.stored] == [b"%d" % number for number in range(6)]
    assert appender.batches - before == 1
    assert not list(appender._sidings)


def test_a_lock_that_lasts_too_long_is_told_as_not_stored(store: LockingStore) -> None:
    appender = appender_on(store, append_timeout=0.3)
    store.lock("t")
    calls = Calls(appender)
    for payload in (b"a", b"b", b"c"):
        calls.start("t", payload)
    calls.finish()
    # Those too who shared a batch with a caller that had more time left.
    for outcome in calls.outcomes.values():
        assert isinstance(outcome, AppendRefused), outcome
        assert (str(outcome.error), outcome.error.maybe_stored) == (LOCKED, False)
    store.release("t")
    assert isinstance(appender.append(Entry("t", [b"d"], may_wait=False)), Appended)
    assert store.stored == [("t", b"d")]
    assert not list(appender._sidings)


def test_only_so_many_topics_wait_in_the_store_at_once_and_the_others_are_asked_for(store: LockingStore) -> None:
    appender = appender_on(store)
    topics = [f"t{number}" for number in range(WAITING_LANES + 3)]
    store.lock(*topics)
    calls = Calls(appender)
    for topic in topics:
        calls.start(topic, topic.encode())
        _until(lambda wanted=topic: appender._sidings.get(wanted) is not None)
    store.until_waiting(*topics[:WAITING_LANES])
    for topic in reversed(topics):
        # Also the last ones, though nobody waits for them in the store and those who are waited for stay locked.
        store.release(topic)
        _until(lambda wanted=topic: wanted.encode() in calls.outcomes)
    calls.finish()
    assert sorted(store.stored) == sorted((topic, topic.encode()) for topic in topics)
    assert store.most_waiting == WAITING_LANES
    assert not list(appender._sidings)


def test_a_caller_that_shares_the_last_lane_keeps_its_order_and_the_others_pass_it(store: LockingStore) -> None:
    appender = appender_on(store)
    waited = [f"t{number}" for number in range(WAITING_LANES)]
    store.lock(*waited, "a", "b")
    calls = Calls(appender)
    for topic in (*waited, "a", "b"):
        calls.start(topic, b"%s 0" % topic.encode())
        _until(lambda wanted=topic: appender._sidings.get(wanted) is not None)
    for number in (1, 2, 3):
        for topic in ("a", "b"):
            calls.start(topic, b"%s %d" % (topic.encode(), number))
            _until(lambda t=topic, wanted=number: queued(appender, t) == wanted + 1)
    store.release("b")
    _until(lambda: b"b 3" in calls.outcomes)
    for topic in (*waited, "a"):
        store.release(topic)
    calls.finish()
    for topic in ("a", "b"):
        expected = [b"%s %d" % (topic.encode(), number) for number in range(4)]
        assert [payload for name, payload in store.stored if name == topic] == expected


def test_close_refuses_what_waits_aside(store: LockingStore) -> None:
    appender = appender_on(store)
    store.lock("t")
    calls = Calls(appender)
    calls.start("t", b"in the store")
    store.until_waiting("t")
    calls.start("t", b"queued")
    _until(lambda: queued(appender, "t") == 1)
    appender.close()
    _until(lambda: b"queued" in calls.outcomes)
    outcome = calls.outcomes[b"queued"]
    assert isinstance(outcome, AppendRefused)
    assert not outcome.error.maybe_stored
    store.release("t")
    calls.finish()
    assert store.stored == [("t", b"in the store")]


def test_a_caller_that_is_interrupted_while_it_waits_for_a_lock_leaves_the_lane_to_the_next(
    store: LockingStore,
) -> None:
    appender = appender_on(store)
    store.lock("t")
    original, interrupted = store._append_one, threading.Event()

    def interrupting(entry: Entry, deadline: float) -> AppendOutcome:
        if entry.may_wait and not interrupted.is_set():
            calls.start("t", b"next")
            _until(lambda: queued(appender, "t") == 1)
            interrupted.set()
            raise KeyboardInterrupt
        return original(entry, deadline)

    store._append_one = interrupting  # type: ignore[method-assign]
    calls = Calls(appender)
    with pytest.raises(KeyboardInterrupt):
        appender.append(Entry("t", [b"interrupted"], may_wait=False))
    store.release("t")
    calls.finish()
    assert isinstance(calls.outcomes[b"next"], Appended)
    assert not list(appender._sidings)


def test_submissions_wait_aside_as_well(store: LockingStore) -> None:
    appender = appender_on(store)
    store.lock("t")
    settled = threading.Event()

    def call_to_lead(ticket: object) -> None:
        threading.Thread(target=appender.lead_for, args=(ticket,), daemon=True).start()

    ticket = appender.submit(Entry("t", [b"a"], may_wait=False), settled.set, call_to_lead)
    store.until_waiting("t")
    assert not settled.is_set()
    store.release("t")
    assert settled.wait(PATIENCE)
    assert isinstance(ticket.outcome, Appended)


def test_a_store_that_can_not_wait_for_locks_is_asked_again(store: LockingStore) -> None:
    append = store.append
    impatient = [0]

    def never_waiting(entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        impatient[0] += 1
        if impatient[0] == 4:
            store.release("t")
        return append([entry._replace(may_wait=False) for entry in entries], timeout)

    store.append = never_waiting  # type: ignore[method-assign]
    store.lock("t")
    assert isinstance(appender_on(store).append(Entry("t", [b"a"], may_wait=False)), Appended)
    assert impatient[0] == 4


def queued(appender: Appender, topic: str) -> int:
    """How many tickets of a topic stand in the lane where it waits, apart from those that are being sent."""
    lane = appender._sidings.get(topic)
    return 0 if lane is None else sum(ticket.entry.topic == topic for ticket in lane.queue)


class Handed:
    """Submits entries that do not go aside, as a server does for clients who have queues of their own."""

    def __init__(self, appender: Appender) -> None:
        self._appender = appender
        self._done = threading.Semaphore(0)
        self.tickets: list[Ticket] = []

    def submit(self, topic: str, payload: bytes) -> None:
        entry = Entry(topic, [payload], may_wait=False)
        self.tickets.append(self._appender.submit(entry, self._done.release, self._lead, goes_aside=False))

    def outcomes(self) -> list[AppendOutcome | None]:
        for _ in self.tickets:
            assert self._done.acquire(timeout=PATIENCE)
        return [ticket.outcome for ticket in self.tickets]

    def _lead(self, ticket: Ticket) -> None:
        threading.Thread(target=self._appender.lead_for, args=(ticket,), daemon=True).start()


def test_what_does_not_go_aside_is_handed_back_at_once_and_the_others_are_stored(store: LockingStore) -> None:
    appender = appender_on(store)
    store.lock("t")
    handed = Handed(appender)
    for topic in ("t", "free", "t", "other"):
        handed.submit(topic, b"x")
    assert [type(each) for each in handed.outcomes()] == [AppendDeferred, Appended, AppendDeferred, Appended]
    assert not list(appender._sidings)
    store.release("t")
    again = Handed(appender)
    again.submit("t", b"y")
    assert [type(each) for each in again.outcomes()] == [Appended]


def test_nothing_that_queues_behind_what_is_handed_back_overtakes_it(store: LockingStore) -> None:
    class Unlocking(LockingStore):
        def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
            outcomes = super().append(entries, timeout)
            # By the next batch the lock is gone.
            self.release("t")
            return outcomes

    unlocking = Unlocking()
    unlocking.lock("t")
    appender = appender_on(unlocking, batch_records=1)
    handed = Handed(appender)
    started: list[Ticket] = []
    handed._lead = started.append  # type: ignore[method-assign]
    for payload in (b"0", b"1", b"2"):
        handed.submit("t", payload)
    appender.lead(started[0])
    assert [type(each) for each in handed.outcomes()] == [AppendDeferred] * 3
    assert unlocking.stored == []


def test_what_does_not_go_aside_is_handed_back_while_others_wait_there(store: LockingStore) -> None:
    appender = appender_on(store)
    store.lock("t")
    calls = Calls(appender)
    calls.start("t", b"waits")
    store.until_waiting("t")
    handed = Handed(appender)
    handed.submit("t", b"does not")
    assert [type(each) for each in handed.outcomes()] == [AppendDeferred]
    store.release("t")
    calls.finish()
    assert store.stored == [("t", b"waits")]


def _until(holds: Callable[[], bool]) -> None:
    until(holds, "it has come to that", step=0.001)
