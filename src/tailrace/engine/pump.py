"""The only background loop: hints -> plan -> one batched read -> deliver -> wake.

One thread per engine, started when the first reader goes live. It holds the lock while it asks the hub
what to do and while it hands over what it read; it reads, waits and wakes without it.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from tailrace.cursors import CursorCodec
from tailrace.engine.backoff import Outage
from tailrace.engine.chunk import Chunk
from tailrace.engine.feed import Feed
from tailrace.engine.foreign import foreign_errors
from tailrace.engine.hub import Channel, Hub, Plan
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.options import EngineOptions
from tailrace.spi import Backend, Page, PositionLost, ReadFailed, ReadOutcome, ReadRequest, Watch

CHANNELS_PER_READ = 500
"""Topics in one batched read, so that a change of ten thousand does not keep the first ones waiting."""

SHORTEST_POLL = 0.05
"""Seconds between fallback reads, whatever the options say."""

_log = logging.getLogger("tailrace.pump")


class Pump:
    """Reads new records once per topic and shares them among its live readers.

    Args:
        lock: Guards ``hub`` and every feed.
        housekeeping: Called once a turn, without the lock.
    """

    def __init__(
        self, backend: Backend, hub: Hub, lock: threading.Lock, options: EngineOptions, housekeeping: Callable[[], None]
    ) -> None:
        self._backend = backend
        self._hub = hub
        self._lock = lock
        self._options = options
        self._housekeeping = housekeeping
        self._thread: threading.Thread | None = None
        self._watch: Watch | None = None
        self._watch_outage = Outage(float("inf"))
        self._idle = False
        self._stopping = False
        self._next_poll = 0.0
        self.rounds = 0
        self.reads = 0

    @property
    def hints_arrive(self) -> bool | None:
        """Whether the store's hints are known to arrive; ``None`` while nobody waits for any."""
        watch = self._watch
        return None if self._thread is None else watch is not None and watch.reliable

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
        watch = self._watch
        if watch is not None:
            watch.interrupt()

    def _start(self) -> None:
        with self._lock:
            if self._thread is not None or self._stopping:
                return
            thread = self._thread = threading.Thread(target=self._run, name="tailrace-pump", daemon=True)
            # Under the lock, so that nobody finds, and waits for, a thread that has not been started. The new one
            # needs the lock only after it has said that it runs.
            try:
                thread.start()
            except BaseException as exc:  # noqa: BLE001 - told, or raised again, below
                self._thread = None
                unstarted = exc
            else:
                return
        self._not_started(unstarted)

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

    def stop(self) -> None:
        """End the loop and wait for it."""
        with self._lock:
            self._stopping = True
            thread = self._thread
        if thread is not None:
            self.nudge()
            if thread is not threading.current_thread():
                thread.join(self._options.append_timeout)

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
            self._close_watch()
            error = DurableStreamUnavailableError(f"the reading loop failed: {type(exc).__name__}")
            with self._lock:
                # Forgotten in the same hold of the lock: whoever goes live after it starts a new loop.
                self._thread = None
                woken = self._hub.fail_all(error)
            _wake(woken)
        else:
            self._close_watch()

    def _turn(self) -> None:
        self.rounds += 1
        self._housekeeping()
        watch = self._open_watch()
        now = time.monotonic()
        with self._lock:
            if self._stopping:
                # Whoever stops while the watch is being opened finds none to interrupt.
                return
            if now >= self._next_poll:
                self._hub.mark_all()
                self._next_poll = now + self._poll_interval()
            plan = self._hub.plan(CHANNELS_PER_READ, now)
            # Decided in the same hold of the lock that found nothing to do: whoever changes the hub
            # after this sees that the loop is idle and interrupts it.
            self._idle = not plan
            pause = 0.0 if plan else self._pause(now)
        if watch is not None and (plan.added or plan.dropped):
            watch = self._follow(watch, plan)
        if plan.channels:
            self._read(plan)
        elif not plan:
            self._wait(watch, pause)

    def _poll_interval(self) -> float:
        watch, budget = self._watch, self._options.outage_budget
        healthy = watch is not None and watch.reliable
        interval = self._options.poll_healthy if healthy else self._options.poll_unsure
        # A store that went away without a sound is noticed by these reads, and in time.
        return min(interval, max(budget / 3, SHORTEST_POLL)) if budget else interval

    def _pause(self, now: float) -> float:
        until = self._next_poll
        retry = self._hub.next_retry()
        if retry is not None:
            until = min(until, retry)
        if self._watch is None:
            until = min(until, self._watch_outage.retry_at)
        return max(0.0, until - now)

    def _open_watch(self) -> Watch | None:
        now = time.monotonic()
        if self._watch is None and now >= self._watch_outage.retry_at:
            try:
                with foreign_errors():
                    self._watch = self._backend.watch()
            except DurableStreamUnavailableError as exc:
                self._watch_failed(exc)
            else:
                self._watch_outage.over()
                with self._lock:
                    self._hub.follow_afresh()
                    self._next_poll = now + self._poll_interval()
        return self._watch

    def _follow(self, watch: Watch, plan: Plan) -> Watch | None:
        try:
            with foreign_errors():
                watch.follow(plan.added, plan.dropped)
        except DurableStreamUnavailableError as exc:
            self._watch_failed(exc)
        return self._watch

    def _wait(self, watch: Watch | None, pause: float) -> None:
        if watch is None:
            # Without a watch there is nothing to interrupt; the pause is short, since a new watch is due.
            time.sleep(min(pause, 0.05))
            return
        try:
            with foreign_errors():
                changes = watch.wait(pause)
        except DurableStreamUnavailableError as exc:
            self._watch_failed(exc)
            return
        with self._lock:
            self._idle = False
            if changes.anything:
                self._hub.mark_all()
            else:
                self._hub.mark(changes.topics)

    def _watch_failed(self, error: DurableStreamUnavailableError) -> None:
        # Readers do not notice: topics are read by the fallback until a new watch stands.
        _log.warning("the store's change hints are interrupted: %s", error)
        self._close_watch()
        now = time.monotonic()
        self._watch_outage.failed(now)
        self._next_poll = min(self._next_poll, now + self._options.poll_unsure)

    def _close_watch(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    def _read(self, plan: Plan) -> None:
        channels = list(plan.channels)
        with self._lock:
            requests = [self._request(channel) for channel in channels]
        self.reads += 1
        outcomes = read_all(self._backend, requests)
        for channel, request, outcome in zip(channels, requests, outcomes, strict=True):
            _wake(self._settle(channel, request, outcome, plan.round))

    def _request(self, channel: Channel) -> ReadRequest:
        return ReadRequest(channel.topic, channel.place, self._options.page_records, self._options.page_bytes)

    def _settle(self, channel: Channel, request: ReadRequest, outcome: ReadOutcome, read_in: int) -> list[Feed]:
        if isinstance(outcome, Page):
            chunk = Chunk.of(outcome, request.after, CursorCodec(channel.topic))
            with self._lock:
                return self._hub.deliver(channel, chunk, read_in)
        with self._lock:
            if isinstance(outcome, PositionLost):
                return self._hub.lose(channel, outcome.reason)
            again = not isinstance(outcome.error, StoreUnusableError) and channel.outage.failed(time.monotonic())
            return self._hub.fail(channel, outcome.error, again=again)


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
