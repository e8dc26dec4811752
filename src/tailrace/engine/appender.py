"""Group commit: concurrent callers share one round trip, and a lone caller pays for no hand-off.

Everybody appends in the main lane, until the store says of a topic that somebody else holds it locked (a transaction
of an application, which may stay open for long). Its tickets then go on in a lane beside, and the other topics do not
wait. As soon as one of them is stored, the topic comes back.

    caller ──▶ main lane ──▶ store
                 │    ▲ stored
        deferred ▼    │
               side lane ──▶ store, waiting for the lock
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from tailrace.engine.foreign import foreign_errors
from tailrace.engine.lane import LOCKED, Lane
from tailrace.engine.sidings import Sidings
from tailrace.engine.ticket import Ticket
from tailrace.engine.waiter import Latch
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import EngineOptions
from tailrace.spi import AppendDeferred, AppendOutcome, AppendRefused, AppendUnknown, Backend, Entry

ASK_AGAIN = 0.05
"""Seconds until a store is asked again for a topic that it did not wait for."""

LEAST_TIME = 0.05
"""Seconds that a ticket must have left for another attempt once its topic was found locked."""

WAIT_SHARE = 0.9
"""Share of the oldest ticket's time that the store may wait for a lock: whoever shares the batch hears that it was not
stored before its own time is over, when nobody could tell any more."""


class Appender:
    """Sends the entries of concurrent callers together. Thread-safe."""

    def __init__(self, backend: Backend, options: EngineOptions) -> None:
        self._backend = backend
        self._options = options
        self._lock = threading.Lock()
        self._main = Lane(self._lock, self._send, options)
        self._sidings = Sidings(lambda waits: Lane(self._lock, self._send, options, waits=waits, aside=True))
        self._closed = False
        self.batches = 0

    def append(self, entry: Entry) -> AppendOutcome:
        """Store one entry, together with those of other callers; block until its outcome is known.

        Returns within ``append_timeout``: what was still queued then is refused, what had been sent is unknown.
        """
        latch = Latch()
        ticket = Ticket(entry, self._deadline(), latch.release, latch.release)
        try:
            if self._enter(ticket):
                self.lead(ticket)
            while ticket.outcome is None:
                # It may lead twice: first in the main lane, and then in the one that it was sent to.
                if not latch.wait(ticket.deadline - time.monotonic()):
                    self.expire(ticket)
                if ticket.outcome is None:
                    self.lead(ticket)
        except BaseException:
            # KeyboardInterrupt, a soft time limit, a killed greenlet: it may come at any instruction,
            # and nobody else may hang or be sent twice because of it.
            self.abandon(ticket)
            raise
        return ticket.outcome

    def submit(
        self,
        entry: Entry,
        settled: Callable[[], None],
        called_to_lead: Callable[[Ticket], None],
        *,
        within: float = math.inf,
        goes_aside: bool = True,
    ) -> Ticket:
        """Queue one entry and return at once; ``settled`` is called when its outcome is known.

        Args:
            settled: From any thread; must not block.
            called_to_lead: Must see to it that some thread that may block calls ``lead`` with the ticket.
            within: Seconds that somebody waits for it, if those are fewer than usual.
            goes_aside: Whether it waits for a topic that is locked; if not, it is told as deferred.
        """
        deadline = min(self._deadline(), time.monotonic() + within)
        ticket = Ticket(entry, deadline, settled, lambda: called_to_lead(ticket), goes_aside=goes_aside)
        if self._enter(ticket):
            if ticket.outcome is None:
                called_to_lead(ticket)
            else:
                settled()
        return ticket

    def lead(self, ticket: Ticket) -> None:
        """Send a batch that this ticket is part of, and hand leadership on. Blocks on the store.

        Called twice, or when it is not this ticket's turn, it does nothing.
        """
        lane = ticket.lane
        if lane is not None and lane.lead(ticket):
            self._hand_on(lane, ticket)

    def lead_for(self, ticket: Ticket) -> None:
        """``lead`` in a thread of its own, where nobody else cleans up if it is interrupted."""
        try:
            self.lead(ticket)
        except BaseException:
            self.abandon(ticket)
            raise

    def expire(self, ticket: Ticket) -> None:
        """Decide the outcome of a ticket whose caller stops waiting; it stays open only if it is about to lead."""
        with self._lock:
            lane = ticket.lane
            if ticket.outcome is not None or lane is None or (lane.leader is ticket and not ticket.sent):
                return
            outcome = lane.too_late(ticket)
        ticket.settle(outcome)

    def abandon(self, ticket: Ticket) -> None:
        """Give up a ticket whose caller was interrupted, wherever it was."""
        # It may have led the main lane until it was deferred, and not have handed that on yet.
        for lane in (self._main, ticket.lane):
            if lane is not None and lane.abandon(ticket):
                self._hand_on(lane, ticket)
        # Perhaps it had just handed on and was interrupted before it woke its successor.
        with self._lock:
            leaders = [lane.leader for lane in (self._main, *self._sidings)]
        _call(leader for leader in leaders if leader is not None)

    def close(self) -> None:
        """Refuse appends from now on, and those that wait aside; the ones under way end as usual."""
        with self._lock:
            self._closed = True
            waiting = [ticket for lane in self._sidings for ticket in lane.withdraw()]
        for ticket in waiting:
            ticket.settle(_refused("the client is closed"))

    def _deadline(self) -> float:
        return time.monotonic() + self._options.append_timeout

    def _enter(self, ticket: Ticket) -> bool:
        with self._lock:
            if self._closed:
                ticket.outcome = _refused("the client is closed")
                return True
            siding = self._sidings.get(ticket.entry.topic)
            if siding is not None and not ticket.goes_aside:
                ticket.outcome = AppendDeferred()
                return True
            return (siding or self._main).enter(ticket)

    def _send(self, lane: Lane, batch: Sequence[Ticket], timeout: float) -> float:
        started = time.monotonic()
        deferred: list[Ticket] = []
        if lane.aside:
            # Not sent for nothing: what would be cut off by its time could not be told as not stored.
            deferred = [each for each in batch if each.deadline <= started + LEAST_TIME]
            sent = [each for each in batch if each.deadline > started + LEAST_TIME]
            outcomes = self._append_aside(sent, lane, started) if sent else []
        else:
            sent = list(batch)
            outcomes = self._append([each.entry for each in sent], timeout)
        seconds = time.monotonic() - started
        lane.last_size, lane.last_seconds = len(batch), seconds
        for each, outcome in zip(sent, outcomes, strict=True):
            if isinstance(outcome, AppendDeferred):
                deferred.append(each)
            else:
                each.settle(outcome)
        if deferred or lane.aside:
            self._sort(lane, sent, deferred)
        # A store that waited has done so in our place.
        return ASK_AGAIN if deferred and lane.aside and seconds < timeout / 2 else 0.0

    def _append_aside(self, sent: Sequence[Ticket], lane: Lane, now: float) -> Sequence[AppendOutcome]:
        entries = [each.entry._replace(may_wait=lane.waits) for each in sent]
        left = min(each.deadline for each in sent) - now
        return self._append(entries, left * WAIT_SHARE if lane.waits else left)

    def _append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        self.batches += 1
        try:
            with foreign_errors(maybe_stored=True):
                return self._backend.append(entries, timeout)
        except DurableStreamUnavailableError as exc:
            failed = AppendUnknown(exc) if exc.maybe_stored else AppendRefused(exc)
            return [failed] * len(entries)

    def _sort(self, lane: Lane, sent: Sequence[Ticket], deferred: Sequence[Ticket]) -> None:
        """Let the topics that were deferred go on aside, and those that were not go on in the main lane.

        Whoever queues behind one of them goes along, in the order in which they came.
        """
        with self._lock:
            soon = math.inf if self._closed else time.monotonic() + LEAST_TIME
            locked = {ticket.entry.topic for ticket in deferred}
            for topic in {ticket.entry.topic: None for ticket in sent if ticket.entry.topic not in locked}:
                self._sidings.shut(topic)
            staying, called, handed_back = [], [], []
            for ticket in (*(each for each in deferred if each.deadline > soon), *lane.queue):
                topic = ticket.entry.topic
                ticket.sent = False
                if not ticket.goes_aside and (topic in locked or self._sidings.get(topic) is not None):
                    # Also those that still queue: one that was stored after an earlier one was deferred would lose
                    # its place.
                    handed_back.append(ticket)
                    continue
                target = (self._sidings.open(topic) if topic in locked else self._sidings.get(topic)) or self._main
                if target is lane:
                    staying.append(ticket)
                else:
                    ticket.leads = False
                    if target.enter(ticket):
                        called.append(ticket)
            # In one step, or somebody might be in it twice; whoever went on is taken for gone from here by ``abandon``.
            lane.queue = deque(staying)
            lane.batch = ()
        for ticket in handed_back:
            ticket.settle(AppendDeferred())
        for ticket in deferred:
            if ticket.deadline <= soon:
                ticket.settle(_refused("the client is closed" if soon == math.inf else LOCKED))
        _call(called)

    def _hand_on(self, lane: Lane, ticket: Ticket) -> None:
        with self._lock:
            if lane.leader is not ticket:
                return
            leader = lane.next_leader()
            if leader is None and lane.aside:
                self._sidings.remove(lane)
        if leader is not None:
            leader.called_to_lead()


def _call(leaders: Iterable[Ticket]) -> None:
    for leader in leaders:
        leader.called_to_lead()


def _refused(reason: str) -> AppendRefused:
    return AppendRefused(DurableStreamUnavailableError(reason))
