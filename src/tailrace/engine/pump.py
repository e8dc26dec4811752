"""The only background loop: hints -> plan -> one batched read -> deliver -> wake.

One thread per engine, started when the first reader goes live. It holds the lock while it asks the hub
what to do and while it hands over what it read; it reads, waits and wakes without it.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from tailrace import native
from tailrace.engine.chunk import Chunk
from tailrace.engine.feed import Feed
from tailrace.engine.foreign import foreign_errors
from tailrace.engine.hints import Hints
from tailrace.engine.hub import Channel, Hub, Plan
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.instrument import Hooks, OutageBegan, OutageEnded
from tailrace.options import EngineOptions
from tailrace.spi import Backend, Page, PositionLost, ReadFailed, ReadOutcome, ReadRequest

CHANNELS_PER_READ = 100
"""Topics in one batched read, so that a change of ten thousand does not keep the first ones waiting."""

SHORTEST_PROBE, LONGEST_PROBE = 0.05, 10.0
"""Seconds between two reads of one topic that only ask whether the store is there."""

_log = logging.getLogger("tailrace.pump")


class Pump:
    """Reads new records once per topic and shares them among its live readers.

    Args:
        lock: Guards ``hub`` and every feed.
        hooks: Called with outages and lost hints, without the lock.
        housekeeping: Called once a turn, without the lock.
    """

    def __init__(
        self,
        backend: Backend,
        hub: Hub,
        lock: threading.Lock,
        options: EngineOptions,
        hooks: Hooks,
        housekeeping: Callable[[], None],
    ) -> None:
        self._backend = backend
        self._hub = hub
        self._lock = lock
        self._options = options
        self._hooks = hooks
        self._housekeeping = housekeeping
        self._away_since: float | None = None
        self._thread: threading.Thread | None = None
        self._hints = Hints(backend, hooks)
        self._idle = False
        self._stopping = False
        self._next_poll = self._next_probe = 0.0
        self.rounds = 0
        self.reads = 0

    @property
    def hints_arrive(self) -> bool | None:
        """Whether the store's hints are known to arrive; ``None`` while nobody waits for any."""
        return None if self._thread is None else self._hints.arrive

    @property
    def running(self) -> bool:
        """Whether there is a loop."""
        return self._thread is not None

    def must_be_told(self) -> bool:
        """Say whether ``nudge`` is needed for a change that was just made to the hub. With the lock held."""
        if self._thread is None:
            return not self._stopping
        was_idle, self._idle = self._idle, False
        return was_idle

    def nudge(self) -> None:
        """Make the loop look at the hub again, starting it if need be. Without the lock."""
        if self._thread is None:
            self._start()
        self._hints.interrupt()

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="tailrace-pump", daemon=True)
        try:
            unstarted = self._start_unless_there(thread)
        except BaseException as exc:  # noqa: BLE001 - raised again below
            # Interrupted before it was started: nobody may believe that it runs.
            if self._thread is thread and thread.ident is None:
                self._thread = None
            unstarted = exc
        if unstarted is not None:
            self._not_started(unstarted)

    def _start_unless_there(self, thread: threading.Thread) -> BaseException | None:
        with self._lock:
            if self._thread is not None or self._stopping:
                return None
            self._thread = thread
            # Under the lock, so that nobody finds, and waits for, a thread that has not been started. The new one
            # needs the lock only after it has said that it runs. But waiting for a greenlet to say so lets others
            # in, and if this lock was made before the patch (in a process that forked workers and patches in them),
            # the first one to ask for it would stop them all.
            greenlet = native.patched()
            unstarted = None if greenlet else self._begin(thread)
        return self._begin(thread) if greenlet else unstarted

    def _begin(self, thread: threading.Thread) -> BaseException | None:
        try:
            thread.start()
        except BaseException as exc:  # noqa: BLE001 - told, or raised again, by the caller
            self._thread = None
            return exc
        return None

    def _not_started(self, exc: BaseException) -> None:
        if isinstance(exc, RuntimeError):
            # No more threads in this process. Nobody may be left waiting for a loop that is not there.
            error = DurableStreamUnavailableError(f"the reading loop could not be started: {exc}")
            with self._lock:
                woken = self._hub.fail_all(error)
            _wake(woken)
            return
        # An interrupt of the caller. The others' readers need a loop all the same.
        self._start()
        raise exc

    def stop(self, patience: float) -> bool:
        """End the loop and wait for it, so many seconds at most; return whether it has ended. Idempotent."""
        with self._lock:
            self._stopping = True
            thread = self._thread
        if thread is None:
            return True
        self.nudge()
        if thread is not threading.current_thread() and thread.is_alive():
            thread.join(patience)
            return not thread.is_alive()
        return True

    def disown(self) -> None:
        """In a child: end the parent's loop, if it was inherited as well. Without the lock, which may be held."""
        self._stopping = True
        if native.patched():
            self._hints.interrupt()

    def _run(self) -> None:
        with self._lock:
            if self._thread is not threading.current_thread():
                # Given up by a caller that was interrupted while it waited for this thread; another one runs.
                return
        self._next_poll = 0.0
        try:
            while not self._stopping:
                self._turn()
        except BaseException as exc:  # noqa: BLE001
            # Whatever it was, nobody may be left waiting for a loop that is gone.
            _log.exception("the pump died; its subscriptions end with an error")
            self._hints.close()
            error = DurableStreamUnavailableError(f"the reading loop failed: {type(exc).__name__}")
            with self._lock:
                # Forgotten in the same hold of the lock: whoever goes live after it starts a new loop.
                self._thread = None
                woken = self._hub.fail_all(error)
            _wake(woken)
        else:
            self._hints.close()
            # A greenlet that was carried into a child is on no list of threads there, and its end would take it off
            # one with an error: this puts it on.
            threading.current_thread()

    def _turn(self) -> None:
        self.rounds += 1
        self._housekeeping()
        if self._hints.open():
            with self._lock:
                self._hub.follow_afresh()
                self._next_poll = time.monotonic() + self._poll_interval()
        now = time.monotonic()
        with self._lock:
            if self._stopping:
                # Whoever stops while the watch is being opened finds none to interrupt.
                return
            if now >= self._next_poll:
                self._hub.mark_all()
                self._next_poll = now + self._poll_interval()
                self._next_probe = now + self._probe_interval()
            elif now >= self._next_probe:
                self._hub.mark_one()
                self._next_probe = now + self._probe_interval()
            plan = self._hub.plan(CHANNELS_PER_READ, now)
            # Decided in the same hold of the lock that found nothing to do: whoever changes the hub
            # after this sees that the loop is idle and interrupts it.
            self._idle = not plan
            pause = 0.0 if plan else self._pause(now)
        if self._hints.follow(plan):
            self._poll_soon()
        if plan.channels:
            self._read(plan)
            # A store that never waits (memory) would let nobody in until everything is read. Those who were just
            # woken take their records now, or what ten thousand have not taken yet piles up.
            time.sleep(0)
        elif not plan:
            self._wait(pause)

    def _poll_interval(self) -> float:
        return self._options.poll_healthy if self._hints.arrive else self._options.poll_unsure

    def _poll_soon(self) -> None:
        # The watch was lost: from now on there is only the fallback.
        self._next_poll = min(self._next_poll, time.monotonic() + self._options.poll_unsure)

    def _probe_interval(self) -> float:
        # A store that went away without a sound is noticed by reading one topic now and then, in time for the
        # outage budget; only then are all of them read.
        budget = self._options.outage_budget
        return min(LONGEST_PROBE, max(budget / 3, SHORTEST_PROBE)) if budget else LONGEST_PROBE

    def _pause(self, now: float) -> float:
        due = (self._next_poll, self._next_probe, self._hub.next_retry(), self._hints.retry_at)
        return max(0.0, min(at for at in due if at is not None) - now)

    def _wait(self, seconds: float) -> None:
        changes = self._hints.wait(seconds)
        if changes is None:
            self._poll_soon()
            return
        with self._lock:
            self._idle = False
            if changes.anything:
                self._hub.mark_all()
            else:
                self._hub.mark(changes.topics)

    def _read(self, plan: Plan) -> None:
        # A channel's place is moved by this thread alone, so no lock is needed to ask for what follows it.
        channels = list(plan.channels)
        self.reads += 1
        outcomes = read_all(self._backend, [self._request(channel) for channel in channels])
        arrivals = [_arrival(channel, outcome) for channel, outcome in zip(channels, outcomes, strict=True)]
        # One hold of the lock and one round of wake-ups for the whole batch: readers that run at once would
        # fight for the lock with the rest of it.
        with self._lock:
            woken = [
                feed
                for channel, arrival in zip(channels, arrivals, strict=True)
                for feed in self._settle(channel, arrival, plan.round)
            ]
        _wake(woken)
        self._report(outcomes)

    def _report(self, outcomes: Sequence[ReadOutcome]) -> None:
        if self._stopping:
            # What failed now failed because it is being closed.
            return
        failed = next((outcome for outcome in outcomes if isinstance(outcome, ReadFailed)), None)
        now = time.monotonic()
        if failed is not None and self._away_since is None:
            self._away_since = now
            with self._lock:
                self._hub.mark_all()
            self._hooks.emit(OutageBegan(str(failed.error)))
        if failed is None and self._away_since is not None:
            seconds, self._away_since = now - self._away_since, None
            self._hooks.emit(OutageEnded(seconds))

    def _request(self, channel: Channel) -> ReadRequest:
        return ReadRequest(channel.topic, channel.place, self._options.page_records, self._options.page_bytes)

    def _settle(self, channel: Channel, arrival: Chunk | PositionLost | ReadFailed, read_in: int) -> list[Feed]:
        if isinstance(arrival, Chunk):
            return self._hub.deliver(channel, arrival, read_in)
        if isinstance(arrival, PositionLost):
            return self._hub.lose(channel, arrival.reason)
        again = not isinstance(arrival.error, StoreUnusableError) and channel.outage.failed(time.monotonic())
        return self._hub.fail(channel, arrival.error, again=again)


def _arrival(channel: Channel, outcome: ReadOutcome) -> Chunk | PositionLost | ReadFailed:
    return Chunk.of(outcome, channel.place, channel.codec) if isinstance(outcome, Page) else outcome


def read_all(backend: Backend, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
    """Read, with a failure of the whole call told as a failure of each request."""
    try:
        with foreign_errors():
            return backend.read(requests)
    except DurableStreamUnavailableError as exc:
        return [ReadFailed(exc)] * len(requests)


def _wake(feeds: Sequence[Feed]) -> None:
    for feed in feeds:
        feed.waiter.fire()
