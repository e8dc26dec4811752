"""One queue of appends, and the leader who sends what is in it.

Callers form a queue. Whoever finds nobody leading becomes the leader: it takes what is queued, sends it
in one call of the store, gives everyone their outcome, hands leadership on to one who still waits, and
returns. No thread of its own.

    caller ──▶ queue ──▶ leader: gather, take, send, settle, hand on
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tailrace.engine.ticket import Ticket
from tailrace.engine.waiter import Latch
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import EngineOptions
from tailrace.spi import AppendOutcome, AppendRefused, AppendUnknown

GATHER_SHARE = 0.25
"""Share of the last commit's time that a leader waits for the callers it has just woken."""

GATHER_ABOVE = 0.0005
"""Seconds: a commit faster than this is not worth waiting for company."""

GATHER_AT_MOST = 0.02
"""Seconds that a leader waits for company, however slow the store was."""


LOCKED = "the record was not stored: its topic is locked by another transaction"


class Lane:
    """Tickets that wait, and the one who leads. All methods but ``lead`` and ``abandon`` want the lock held.

    Args:
        lock: The appender's, one for all of its lanes: a ticket goes from one lane to another in one step.
        send: Sends a batch of a lane, within so many seconds; settles its tickets, puts them into another lane, or back
            into this one. Returns for how many seconds its leader is to leave the store alone.
        options: Bounds and timeouts.
        aside: Whether its topics are locked by somebody else.
        waits: Whether the store may wait for such a lock.
    """

    def __init__(
        self,
        lock: AbstractContextManager[Any],
        send: "Callable[[Lane, Sequence[Ticket], float], float]",
        options: EngineOptions,
        *,
        aside: bool = False,
        waits: bool = False,
    ) -> None:
        self._lock = lock
        self._send = send
        self._options = options
        self._gathering: tuple[int, Latch] | None = None
        self.aside = aside
        self.waits = waits
        self.queue: deque[Ticket] = deque()
        self.leader: Ticket | None = None
        self.batch: Sequence[Ticket] = ()
        self.last_size = 0
        self.last_seconds = 0.0

    def enter(self, ticket: Ticket) -> bool:
        """Queue a ticket; return whether it leads now."""
        # In this order: one that is interrupted between the two stands nowhere, and not where nobody looks for it.
        ticket.lane = self
        self.queue.append(ticket)
        if self.leader is None:
            self.leader = ticket
            return True
        # Looked at once: the leader stops gathering without the lock.
        gathering = self._gathering
        if gathering is not None and len(self.queue) >= gathering[0]:
            gathering[1].release()
        return False

    def lead(self, ticket: Ticket) -> bool:
        """Send a batch that this ticket is part of; return whether leadership is to be handed on. Blocks on the store.

        Called twice, or when it is not this ticket's turn, it does nothing.
        """
        with self._lock:
            if self.leader is not ticket or ticket.leads:
                return False
            ticket.leads = True
        self._gather()
        # Mostly once. Somebody who was interrupted while it queued may stand before this ticket, and leave no room for
        # it in the first batch; or its topic is locked, and is asked for again.
        while ticket.outcome is None and ticket.lane is self:
            remaining = ticket.deadline - time.monotonic()
            if remaining > 0:
                pause = self._send(self, self._take(ticket, remaining), remaining)
                if pause:
                    time.sleep(pause)
                continue
            # Too late for this one; the others are not to be sent with what is left of its time.
            with self._lock:
                outcome = self.too_late(ticket)
            ticket.settle(outcome)
        return True

    def next_leader(self) -> Ticket | None:
        """Let another ticket lead, if there is one; it must then be called."""
        self.batch = ()
        # The youngest of the next batch leads: it has the most time left, so the store's call is
        # bounded by it, and the older ones leave on their own deadlines.
        fitting = self._first_fitting()
        self.leader = fitting[-1] if fitting else None
        return self.leader

    def too_late(self, ticket: Ticket) -> AppendOutcome:
        """Return the outcome of a ticket whose time is over, and take it out of the queue."""
        seconds = self._options.append_timeout
        if ticket.sent:
            message = f"the store did not answer within {seconds:g} s: the record may or may not be stored"
            return AppendUnknown(DurableStreamUnavailableError(message, maybe_stored=True))
        # Not there if whoever was to put it there was interrupted.
        if ticket in self.queue:
            self.queue.remove(ticket)
        message = LOCKED if self.aside else f"the record was not stored: its turn did not come within {seconds:g} s"
        return AppendRefused(DurableStreamUnavailableError(message))

    def withdraw(self) -> Sequence[Ticket]:
        """Empty the queue; return who stood in it."""
        withdrawn, self.queue = self.queue, deque()
        return withdrawn

    def abandon(self, ticket: Ticket) -> bool:
        """Give up a ticket whose caller was interrupted; return whether leadership is to be handed on."""
        with self._lock:
            leads = self.leader is ticket
            batch = self.batch if leads else ()
            # Also those who were just going on in another lane.
            gone = {ticket, *batch}
            self.queue = deque(each for each in self.queue if each not in gone and each.lane is self)
        if not leads:
            return False
        self._gathering = None
        error = DurableStreamUnavailableError(
            "the thread that was sending this record was interrupted: it may or may not be stored", maybe_stored=True
        )
        for each in batch:
            if each.lane is self:
                each.settle(AppendUnknown(error))
        return True

    def _gather(self) -> None:
        # Without this, a slow store is fed by two alternating halves: the callers of one commit queue
        # again just after the next one was sent. Waiting briefly for those it has just woken makes one.
        if self.last_size < 2 or self.last_seconds < GATHER_ABOVE:
            return
        with self._lock:
            if len(self.queue) >= self.last_size:
                return
            latch = Latch()
            self._gathering = (self.last_size, latch)
        latch.wait(min(self.last_seconds * GATHER_SHARE, GATHER_AT_MOST))
        self._gathering = None

    def _take(self, leader: Ticket, remaining: float) -> Sequence[Ticket]:
        # Whoever came while the leader gathered has more time than it. A leader that is nearly out of
        # time leaves them to the next one, or its short deadline would become theirs.
        until = leader if remaining < self._options.append_timeout / 2 else None
        with self._lock:
            # Noted first: if the leader is interrupted on the way, ``abandon`` finds all of them here, and
            # takes out of the queue those that still stand in it.
            self.batch = batch = self._first_fitting(until)
            for ticket in batch:
                ticket.sent = True
                self.queue.popleft()
        return batch

    def _first_fitting(self, until: Ticket | None = None) -> list[Ticket]:
        records = size = 0
        fitting: list[Ticket] = []
        for ticket in self.queue:
            records += len(ticket.entry.payloads)
            size += sum(map(len, ticket.entry.payloads))
            if fitting and (records > self._options.batch_records or size > self._options.batch_bytes):
                break
            fitting.append(ticket)
            if ticket is until:
                break
        return fitting
