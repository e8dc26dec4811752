"""Group commit: concurrent callers share one round trip, and a lone caller pays for no hand-off.

Callers form a queue. Whoever finds nobody leading becomes the leader: it takes what is queued, sends it
in one call of the store, gives everyone their outcome, hands leadership on to one who still waits, and
returns. No thread of its own.

    caller ──▶ queue ──▶ leader: gather, take, send, settle, hand on
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from tailrace.engine.foreign import foreign_errors
from tailrace.engine.waiter import Latch
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import EngineOptions
from tailrace.spi import AppendOutcome, AppendRefused, AppendUnknown, Backend, Entry

GATHER_SHARE = 0.25
"""Share of the last commit's time that a leader waits for the callers it has just woken."""

GATHER_ABOVE = 0.0005
"""Seconds: a commit faster than this is not worth waiting for company."""


GATHER_AT_MOST = 0.02
"""Seconds that a leader waits for company, however slow the store was."""


class Ticket:
    """One caller's place in the queue.

    Args:
        entry: What it appends.
        deadline: On the monotonic clock.
        settled: Called once the outcome is known; must not block.
        called_to_lead: Called when it is this ticket's turn to lead: somebody must then call ``lead`` with it.
    """

    __slots__ = ("called_to_lead", "deadline", "entry", "leads", "outcome", "sent", "settled")

    def __init__(
        self, entry: Entry, deadline: float, settled: Callable[[], None], called_to_lead: Callable[[], None]
    ) -> None:
        self.entry = entry
        self.deadline = deadline
        self.settled = settled
        self.called_to_lead = called_to_lead
        self.outcome: AppendOutcome | None = None
        self.leads = False
        self.sent = False

    def settle(self, outcome: AppendOutcome) -> None:
        """Give this caller its outcome, unless it has one already, and wake it."""
        if self.outcome is None:
            self.outcome = outcome
        self.settled()


class Appender:
    """Sends the entries of concurrent callers together. Thread-safe."""

    def __init__(self, backend: Backend, options: EngineOptions) -> None:
        self._backend = backend
        self._options = options
        self._lock = threading.Lock()
        self._queue: deque[Ticket] = deque()
        self._leader: Ticket | None = None
        self._batch: Sequence[Ticket] = ()
        self._gathering: tuple[int, Latch] | None = None
        self._last_size = 0
        self._last_seconds = 0.0
        self._closed = False
        self.batches = 0

    def append(self, entry: Entry) -> AppendOutcome:
        """Store one entry, together with those of other callers; block until its outcome is known.

        Returns within ``append_timeout``: what was still queued then is refused, what had been sent is unknown.
        """
        latch = Latch()
        ticket = Ticket(entry, self._deadline(), latch.release, latch.release)
        try:
            if not self._enter(ticket):
                latch.wait(ticket.deadline - time.monotonic())
                if ticket.outcome is None:
                    self.expire(ticket)
            if ticket.outcome is None:
                self.lead(ticket)
        except BaseException:
            # KeyboardInterrupt, a soft time limit, a killed greenlet: it may come at any instruction,
            # and nobody else may hang or be sent twice because of it.
            self.abandon(ticket)
            raise
        assert ticket.outcome is not None
        return ticket.outcome

    def submit(self, entry: Entry, settled: Callable[[], None], called_to_lead: Callable[[Ticket], None]) -> Ticket:
        """Queue one entry and return at once; ``settled`` is called when its outcome is known.

        Args:
            settled: From any thread; must not block.
            called_to_lead: Must see to it that some thread that may block calls ``lead`` with the ticket.
        """
        ticket = Ticket(entry, self._deadline(), settled, lambda: called_to_lead(ticket))
        if self._enter(ticket):
            if ticket.outcome is None:
                called_to_lead(ticket)
            else:
                settled()
        return ticket

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
            if ticket.outcome is not None or (self._leader is ticket and not ticket.sent):
                return
            outcome = self._too_late(ticket)
        ticket.settle(outcome)

    def close(self) -> None:
        """Refuse appends from now on; the ones under way end as usual."""
        with self._lock:
            self._closed = True

    def _deadline(self) -> float:
        return time.monotonic() + self._options.append_timeout

    def _enter(self, ticket: Ticket) -> bool:
        with self._lock:
            if self._closed:
                ticket.outcome = AppendRefused(DurableStreamUnavailableError("the client is closed"))
                return True
            self._queue.append(ticket)
            if self._leader is None:
                self._leader = ticket
                return True
            # Looked at once: the leader stops gathering without the lock.
            gathering = self._gathering
            if gathering is not None and len(self._queue) >= gathering[0]:
                gathering[1].release()
        return False

    def lead(self, ticket: Ticket) -> None:
        """Send a batch that this ticket is part of, and hand leadership on. Blocks on the store.

        Called twice, or when it is not this ticket's turn, it does nothing.
        """
        with self._lock:
            if self._leader is not ticket or ticket.leads:
                return
            ticket.leads = True
        self._gather()
        # Mostly once. Somebody who was interrupted while it queued may stand before this ticket, and leave no room for
        # it in the first batch.
        while ticket.outcome is None:
            remaining = ticket.deadline - time.monotonic()
            if remaining > 0:
                self._send(self._take(ticket, remaining), remaining)
                continue
            # Too late for this one; the others are not to be sent with what is left of its time.
            with self._lock:
                outcome = self._too_late(ticket)
            ticket.settle(outcome)
        self._hand_on()

    def _send(self, batch: Sequence[Ticket], timeout: float) -> None:
        started = time.monotonic()
        try:
            with foreign_errors(maybe_stored=True):
                outcomes = self._backend.append([each.entry for each in batch], timeout)
        except DurableStreamUnavailableError as exc:
            failed = AppendUnknown(exc) if exc.maybe_stored else AppendRefused(exc)
            outcomes = [failed] * len(batch)
        self._last_size, self._last_seconds = len(batch), time.monotonic() - started
        self.batches += 1
        for each, outcome in zip(batch, outcomes, strict=True):
            each.settle(outcome)

    def _gather(self) -> None:
        # Without this, a slow store is fed by two alternating halves: the callers of one commit queue
        # again just after the next one was sent. Waiting briefly for those it has just woken makes one.
        if self._last_size < 2 or self._last_seconds < GATHER_ABOVE:
            return
        with self._lock:
            if len(self._queue) >= self._last_size:
                return
            latch = Latch()
            self._gathering = (self._last_size, latch)
        latch.wait(min(self._last_seconds * GATHER_SHARE, GATHER_AT_MOST))
        self._gathering = None

    def _take(self, leader: Ticket, remaining: float) -> Sequence[Ticket]:
        # Whoever came while the leader gathered has more time than it. A leader that is nearly out of
        # time leaves them to the next one, or its short deadline would become theirs.
        until = leader if remaining < self._options.append_timeout / 2 else None
        with self._lock:
            # Noted first: if the leader is interrupted on the way, ``abandon`` finds all of them here, and
            # takes out of the queue those that still stand in it.
            self._batch = batch = self._first_fitting(until)
            for ticket in batch:
                ticket.sent = True
                self._queue.popleft()
        return batch

    def _first_fitting(self, until: Ticket | None = None) -> list[Ticket]:
        records = size = 0
        fitting: list[Ticket] = []
        for ticket in self._queue:
            records += len(ticket.entry.payloads)
            size += sum(map(len, ticket.entry.payloads))
            if fitting and (records > self._options.batch_records or size > self._options.batch_bytes):
                break
            fitting.append(ticket)
            if ticket is until:
                break
        return fitting

    def _too_late(self, ticket: Ticket) -> AppendOutcome:
        seconds = self._options.append_timeout
        if ticket.sent:
            message = f"the store did not answer within {seconds:g} s: the record may or may not be stored"
            return AppendUnknown(DurableStreamUnavailableError(message, maybe_stored=True))
        self._queue.remove(ticket)
        message = f"the record was not stored: its turn did not come within {seconds:g} s"
        return AppendRefused(DurableStreamUnavailableError(message))

    def _hand_on(self) -> None:
        with self._lock:
            self._batch = ()
            # The youngest of the next batch leads: it has the most time left, so the store's call is
            # bounded by it, and the older ones leave on their own deadlines.
            fitting = self._first_fitting()
            self._leader = fitting[-1] if fitting else None
        if fitting:
            fitting[-1].called_to_lead()

    def abandon(self, ticket: Ticket) -> None:
        """Give up a ticket whose caller was interrupted, wherever it was."""
        with self._lock:
            leader = self._leader
            batch = self._batch if leader is ticket else ()
            for each in (ticket, *batch):
                if each in self._queue:
                    self._queue.remove(each)
        if leader is not ticket:
            # Perhaps it had just handed on and was interrupted before it woke its successor.
            if leader is not None:
                leader.called_to_lead()
            return
        self._gathering = None
        error = DurableStreamUnavailableError(
            "the thread that was sending this record was interrupted: it may or may not be stored", maybe_stored=True
        )
        for each in batch:
            each.settle(AppendUnknown(error))
        self._hand_on()
