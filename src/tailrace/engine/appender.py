"""Group commit: concurrent callers share one round trip, and a lone caller pays for no hand-off.

Callers form a queue. Whoever finds nobody leading becomes the leader: it takes what is queued, sends it
in one call of the store, gives everyone their outcome, hands leadership on to one who still waits, and
returns. No thread of its own.

    caller ──▶ queue ──▶ leader: gather, take, send, settle, hand on
"""

import threading
import time
from collections import deque
from collections.abc import Sequence

from tailrace.engine.foreign import foreign_errors
from tailrace.engine.waiter import Latch
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import EngineOptions
from tailrace.spi import AppendOutcome, AppendRefused, AppendUnknown, Backend, Entry

GATHER_SHARE = 0.25
"""Share of the last commit's time that a leader waits for the callers it has just woken."""

GATHER_ABOVE = 0.0005
"""Seconds: a commit faster than this is not worth waiting for company."""


class Ticket:
    """One caller's place in the queue."""

    __slots__ = ("deadline", "entry", "latch", "outcome", "sent")

    def __init__(self, entry: Entry, deadline: float) -> None:
        self.entry = entry
        self.deadline = deadline
        self.latch = Latch()
        self.outcome: AppendOutcome | None = None
        self.sent = False

    def settle(self, outcome: AppendOutcome) -> None:
        """Give this caller its outcome, unless it has one already, and wake it."""
        if self.outcome is None:
            self.outcome = outcome
        self.latch.release()


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
        ticket = Ticket(entry, time.monotonic() + self._options.append_timeout)
        try:
            if not self._enter(ticket):
                self._await(ticket)
            if ticket.outcome is None:
                self._lead(ticket)
        except BaseException:
            # KeyboardInterrupt, a soft time limit, a killed greenlet: it may come at any instruction,
            # and nobody else may hang or be sent twice because of it.
            self._abandon(ticket)
            raise
        assert ticket.outcome is not None
        return ticket.outcome

    def close(self) -> None:
        """Refuse appends from now on; the ones under way end as usual."""
        with self._lock:
            self._closed = True

    def _enter(self, ticket: Ticket) -> bool:
        with self._lock:
            if self._closed:
                ticket.outcome = AppendRefused(DurableStreamUnavailableError("the client is closed"))
                return True
            self._queue.append(ticket)
            if self._leader is None:
                self._leader = ticket
                return True
            if self._gathering is not None and len(self._queue) >= self._gathering[0]:
                self._gathering[1].release()
        return False

    def _await(self, ticket: Ticket) -> None:
        ticket.latch.wait(ticket.deadline - time.monotonic())
        with self._lock:
            if ticket.outcome is not None or self._leader is ticket:
                return
            seconds = self._options.append_timeout
            if ticket.sent:
                message = f"the store did not answer within {seconds:g} s: the record may or may not be stored"
                ticket.outcome = AppendUnknown(DurableStreamUnavailableError(message, maybe_stored=True))
            else:
                self._queue.remove(ticket)
                message = f"the record was not stored: its turn did not come within {seconds:g} s"
                ticket.outcome = AppendRefused(DurableStreamUnavailableError(message))

    def _lead(self, ticket: Ticket) -> None:
        self._gather()
        batch = self._take()
        started = time.monotonic()
        try:
            with foreign_errors(maybe_stored=True):
                timeout = max(ticket.deadline - started, 0.001)
                outcomes = self._backend.append([each.entry for each in batch], timeout)
        except DurableStreamUnavailableError as exc:
            failed = AppendUnknown(exc) if exc.maybe_stored else AppendRefused(exc)
            outcomes = [failed] * len(batch)
        self._last_size, self._last_seconds = len(batch), time.monotonic() - started
        self.batches += 1
        self._settle(batch, outcomes)
        self._hand_on()

    def _gather(self) -> None:
        # Without this, a slow store is fed by two alternating halves: the callers of one commit queue
        # again just after the next one was sent. Waiting briefly for those it has just woken makes one.
        wait = self._last_seconds * GATHER_SHARE
        if self._last_size < 2 or self._last_seconds < GATHER_ABOVE:
            return
        with self._lock:
            if len(self._queue) >= self._last_size:
                return
            latch = Latch()
            self._gathering = (self._last_size, latch)
        latch.wait(wait)
        self._gathering = None

    def _take(self) -> Sequence[Ticket]:
        with self._lock:
            batch: list[Ticket] = []
            for ticket in self._first_fitting():
                ticket.sent = True
                batch.append(ticket)
            self._batch = batch
            for _ in batch:
                self._queue.popleft()
        return batch

    def _first_fitting(self) -> list[Ticket]:
        records = size = 0
        fitting: list[Ticket] = []
        for ticket in self._queue:
            records += len(ticket.entry.payloads)
            size += sum(map(len, ticket.entry.payloads))
            if fitting and (records > self._options.batch_records or size > self._options.batch_bytes):
                break
            fitting.append(ticket)
        return fitting

    def _settle(self, batch: Sequence[Ticket], outcomes: Sequence[AppendOutcome]) -> None:
        with self._lock:
            self._batch = ()
        for ticket, outcome in zip(batch, outcomes, strict=True):
            ticket.settle(outcome)

    def _hand_on(self) -> None:
        with self._lock:
            # The youngest of the next batch leads: it has the most time left, so the store's call is
            # bounded by it, and the older ones leave on their own deadlines.
            fitting = self._first_fitting()
            self._leader = fitting[-1] if fitting else None
        if fitting:
            fitting[-1].latch.release()

    def _abandon(self, ticket: Ticket) -> None:
        with self._lock:
            leads = self._leader is ticket
            if not ticket.sent and ticket in self._queue:
                self._queue.remove(ticket)
            batch: Sequence[Ticket] = ()
            if leads:
                batch, self._batch, self._gathering = self._batch, (), None
        if not leads:
            return
        error = DurableStreamUnavailableError(
            "the thread that was sending this record was interrupted: it may or may not be stored", maybe_stored=True
        )
        for each in batch:
            each.settle(AppendUnknown(error))
        self._hand_on()
