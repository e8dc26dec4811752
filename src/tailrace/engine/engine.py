"""The one door between the facades and a store: bounds, open, seal, close; what is appended goes through ``writing``.

It owns the lock that guards hub and feeds, and the pump; it starts neither before they are needed, and starts afresh in
a forked child.
"""

import dataclasses
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from tailrace.cursors import CursorCodec
from tailrace.engine.buffer import Buffer
from tailrace.engine.feed import Feed
from tailrace.engine.foreign import foreign_errors
from tailrace.engine.hub import Hub
from tailrace.engine.pump import Pump, read_all
from tailrace.engine.reader import Reader
from tailrace.engine.workers import Workers
from tailrace.engine.writing import Writing
from tailrace.errors import CursorUnavailableError, DurableStreamUnavailableError
from tailrace.forks import renew_in_child
from tailrace.instrument import Hook, Hooks, SubscriptionEnded
from tailrace.options import EngineOptions
from tailrace.spi import (
    Backend,
    Bounds,
    Place,
    PositionLost,
    ReadFailed,
    ReadOutcome,
    ReadRequest,
    Unborn,
)

WORKERS = 8
"""Calls of event loops that wait for the store at once, at most; appends are not among them."""

PULLERS = 32
"""Pages of event loops' subscriptions that are read at once, at most. As many may hang; then the others wait."""

STOPS_WITHIN = 0.5
"""Seconds that the reading loop gets to end by itself, before and after its store is closed."""


class Dismissal(NamedTuple):
    """What is left to do after a reader was dismissed."""

    was_admitted: bool
    nudge: bool


class Engine:
    """One implementation of the contract over one store. Thread-safe.

    Args:
        backend: The store; ``close`` closes it.
        options: Bounds and timeouts.
        hooks: Called with what happens.
    """

    def __init__(self, backend: Backend, options: EngineOptions, hooks: Iterable[Hook] = ()) -> None:
        self.backend = backend
        # A page is no larger than the buffer: a subscription holds at most its buffer plus one page.
        self.options = dataclasses.replace(
            options,
            page_records=min(options.page_records, options.buffer_records),
            page_bytes=min(options.page_bytes, options.buffer_bytes),
        )
        self.hooks = Hooks(hooks)
        self.local = backend.capabilities.local
        self._closed = False
        self._start_afresh()
        renew_in_child(self)

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def codec(self, topic: str) -> CursorCodec:
        """Return what turns places of a topic into cursors and back."""
        return CursorCodec(topic)

    def seal(self, topic: str, error: str | None) -> None:
        """End a topic for good. Blocks on the store."""
        self._check_open()
        with foreign_errors():
            self.backend.seal(topic, error)
        self.hint(topic)

    def beginning(self, topic: str) -> Place:
        """Return the place before the earliest retained record. Blocks on the store."""
        bounds = self._bounds(topic)
        return bounds.beginning if isinstance(bounds, Bounds) else bounds

    def tail(self, topic: str) -> Place:
        """Return the place after the last record. Blocks on the store."""
        bounds = self._bounds(topic)
        return bounds.tail if isinstance(bounds, Bounds) else bounds

    def resume(self, topic: str, cursor: object) -> Place:
        """Return the place that a cursor names, after asking the store whether it still holds.

        Raises:
            CursorUnavailableError: It is no cursor of this topic (found without I/O), or it is gone.
        """
        place = self.codec(topic).decode(cursor)
        outcome = self.read(topic, place, max_records=0)
        if isinstance(outcome, PositionLost):
            raise CursorUnavailableError(outcome.reason)
        if isinstance(outcome, ReadFailed):
            raise outcome.error
        return place

    def read(self, topic: str, after: Place, *, max_records: int | None = None) -> ReadOutcome:
        """Read one page. Blocks on the store; a failure is returned, not raised."""
        if self._closed:
            return ReadFailed(DurableStreamUnavailableError("the client is closed"))
        most = self.options.page_records if max_records is None else max_records
        [outcome] = read_all(self.backend, [ReadRequest(topic, after, most, self.options.page_bytes)])
        return outcome

    def open(self, topic: str, start: Place) -> Reader:
        """Return a reader that has not been entered yet. Acquires nothing."""
        return Reader(self, topic, start)

    def new_buffer(self) -> Buffer:
        """Return an empty buffer with this engine's bounds."""
        return Buffer(self.options.buffer_records, self.options.buffer_bytes)

    def admit(self, reader: Reader) -> None:
        """Count a reader that is being entered, so that ``close`` ends it. With the lock held."""
        self._readers.add(reader)

    def dismiss(self, reader: Reader) -> Dismissal:
        """Forget a reader that ended, with the lock held; ``farewell`` must follow once it is released. Idempotent.

        In the same hold of the lock that ended it: the pump must not come in between and buffer records for a
        reader that is closed.
        """
        nudge = self.part(reader.feed)
        was_admitted = reader in self._readers
        # Last: as long as it stands there, an interrupt came in between and this is to be done again.
        self._readers.discard(reader)
        return Dismissal(was_admitted, nudge)

    def has_admitted(self, reader: Reader) -> bool:
        """Return whether a reader was admitted and not dismissed since. With the lock held."""
        return reader in self._readers

    def farewell(self, reader: Reader, dismissal: Dismissal) -> None:
        """Do what dismissing a reader left to do. Without the lock."""
        if dismissal.nudge:
            self.nudge()
        if dismissal.was_admitted:
            self._report_end(reader.feed)

    def abandon(self, feed: Feed) -> None:
        """Note that a reader was garbage-collected without being closed. Takes no lock: it may run anywhere."""
        self._abandoned.append(feed)

    def join(self, feed: Feed) -> bool:
        """Make a feed live, with the lock held; return whether ``nudge`` is needed after it is released."""
        try:
            return self.hub.join(feed) and self._pump.must_be_told()
        except BaseException:
            self._disband()
            raise

    def part(self, feed: Feed) -> bool:
        """Make a feed no longer live, with the lock held; return whether ``nudge`` is needed after it is released."""
        try:
            return self.hub.leave(feed) and self._pump.must_be_told()
        except BaseException:
            self._disband()
            raise

    def nudge(self) -> None:
        """Make the pump look at the hub. Without the lock."""
        self._pump.nudge()

    def rouse(self) -> None:
        """Nudge the pump, if there is any use for it, on behalf of a thread that was interrupted. Without the lock.

        It may have been the one that was to nudge, and nobody else would as long as it is believed to do so.
        """
        if self._pump.running or self.hub.topics:
            self.nudge()

    def hint(self, topic: str) -> None:
        """Tell local readers directly that a topic moved; other processes hear of it from the store."""
        # Asked without the lock, which every append would fight for: a reader that joins only now has the topic read
        # once more, after what we speak of was stored.
        if not self.hub.has_readers(topic):
            return
        try:
            with self.lock:
                tell = self.hub.mark((topic,)) and self._pump.must_be_told()
            if tell:
                self.nudge()
        except BaseException:
            self.rouse()
            raise

    def stats(self) -> dict[str, int | float | bool | None]:
        """Return counters and gauges. Does not block on the store."""
        with self.lock:
            since = self.hub.outage_since()
            return {
                **self.writing.stats(),
                "subscriptions": len(self._readers),
                "live_subscriptions": self.hub.feeds,
                "live_topics": self.hub.topics,
                "pump_rounds": self._pump.rounds,
                "pump_reads": self._pump.reads,
                "hints_arrive": self._pump.hints_arrive,
                "outage_seconds": 0.0 if since is None else time.monotonic() - since,
            }

    def describe(self) -> str:
        """Return what a person wants to see of it."""
        state = "closed" if self._closed else f"{len(self._readers)} subscriptions"
        return f"StreamClient on {self.backend.capabilities.store}: {state}"

    def close(self) -> None:
        """End every subscription and release the store. Idempotent, never raises for a store that fails."""
        with self.lock:
            if self._closed:
                return
            self._closed = True
            readers = list(self._readers)
        self.writing.close()
        self.workers.close()
        self.pullers.close()
        for reader in readers:
            reader.close()
        # A loop that waits for a store that hangs ends only once that is closed; any other one ends before, in peace.
        ended = self._pump.stop(STOPS_WITHIN)
        self.backend.close()
        if not ended:
            self._pump.stop(STOPS_WITHIN)

    def after_fork(self) -> None:
        """Start afresh in a child process: its threads are gone, and its locks may be held for ever."""
        readers, inherited = list(self._readers), self._pump
        self._start_afresh()
        # Threads end with a fork, greenlets do not: the parent's pump would go on in here, on nobody's behalf.
        inherited.disown()
        for reader in readers:
            reader.orphan()

    def _start_afresh(self) -> None:
        self.lock = threading.Lock()
        self.hub = Hub(self.options.outage_budget)
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()
        self.workers = Workers(WORKERS)
        # Apart, so that those who catch up from a store that hangs keep nobody from appending or subscribing.
        self.pullers = Workers(PULLERS)
        self._abandoned: deque[Feed] = deque()
        self.writing = Writing(self.backend, self.options, self.hooks, self.workers, self.hint)
        self._pump = Pump(self.backend, self.hub, self.lock, self.options, self.hooks, self._release_abandoned)

    def _disband(self) -> None:
        # An interrupt (KeyboardInterrupt, a soft time limit) came half-way through a change of the hub. With the lock
        # still held, so that the pump never finds it like that.
        for feed in self.hub.disband():
            feed.waiter.fire()

    def _release_abandoned(self) -> None:
        while self._abandoned:
            feed = self._abandoned.popleft()
            with self.lock:
                feed.close()
                self.hub.leave(feed)
            self._report_end(feed)

    def _report_end(self, feed: Feed) -> None:
        if self.hooks and feed.ending is not None:
            self.hooks.emit(SubscriptionEnded(feed.topic, feed.ending))

    def _bounds(self, topic: str) -> Bounds | Unborn:
        self._check_open()
        with foreign_errors():
            return self.backend.bounds(topic)

    def _check_open(self) -> None:
        if self._closed:
            raise DurableStreamUnavailableError("the client is closed: connect again")
