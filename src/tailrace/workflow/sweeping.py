"""One pass of retention: lost producers, expired streams, ended runs, in the order of their time and within a budget.

Each piece is a transaction of its own. What fails is put off and counted, and is in nobody's way; what the budget
leaves is found by the next pass, in this process or another.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from tailrace.errors import DurableStreamError
from tailrace.spi import Database
from tailrace.spi.relational import Ask
from tailrace.workflow.model import SECOND, SweepResult
from tailrace.workflow.objects import Objects, Released
from tailrace.workflow.payloads.errors import PayloadHeldError
from tailrace.workflow.settings import WorkflowSettings
from tailrace.workflow.store import claims, clock, retention
from tailrace.workflow.store.retention import CHUNK_ITEMS, NONE, Candidate, DueRun

_log = logging.getLogger("tailrace.workflow")

S = TypeVar("S", Candidate, DueRun)


@dataclass(slots=True)
class _Pass:
    """What one pass has done, and may still do."""

    items_left: int
    transactions_left: int
    streams: int = 0
    items: int = 0
    runs: int = 0
    lost_producers: int = 0
    payloads: int = 0
    held: int = 0
    failed: int = 0

    def release(self, released: Released) -> bool:
        """Count what was released; return whether that was all."""
        self.payloads += released.deleted
        self.transactions_left -= released.steps
        return released.done

    def could_not(self, what: str, why: DurableStreamError) -> None:
        """Count what stays as it is, and say so; a hold is no failure."""
        if isinstance(why, PayloadHeldError):
            self.held += 1
            return
        self.failed += 1
        _log.warning("%s could not be removed, and is tried again later: %s", what, why)

    @property
    def spent(self) -> bool:
        return self.items_left <= 0 or self.transactions_left <= 0


class Sweeper:
    """Thread-safe; any number of them may sweep one database.

    Args:
        timeout: Seconds that one transaction may take.
        moved: Called with the topic of a stream that was ended.
        objects: What goes with the items.
    """

    def __init__(
        self,
        database: Database,
        settings: WorkflowSettings,
        timeout: float,
        moved: Callable[[str], None],
        objects: Objects,
    ) -> None:
        self._database = database
        self._settings = settings
        self._timeout = timeout
        self._moved = moved
        self._objects = objects

    def sweep(self) -> SweepResult:
        """Do one pass. Blocks.

        Raises:
            DurableStreamUnavailableError: The store is away.
        """
        settings = self._settings
        now = self._database.look(clock.now)
        done = _Pass(settings.sweep_items, settings.sweep_transactions)
        self._end_lapsed(now, done)
        self._reclaim(now, done)
        if settings.run_retention is not None:
            self._prune(now - int(settings.run_retention * SECOND), done)
        self._discard(now, done)
        return SweepResult(
            streams=done.streams,
            items=done.items,
            runs=done.runs,
            lost_producers=done.lost_producers,
            payloads=done.payloads,
            held=done.held,
            failed=done.failed,
            done=not done.spent,
        )

    def _end_lapsed(self, now: int, done: _Pass) -> None:
        for candidate in self._each(retention.leases, now, done):
            end_lapsed = partial(retention.end_lapsed, stream_id=candidate.id)
            topic = self._database.change(end_lapsed, self._timeout)
            if topic is not None:
                done.lost_producers += 1
                self._moved(topic)

    def _reclaim(self, now: int, done: _Pass) -> None:
        for candidate in self._each(retention.expired, now, done):
            try:
                if done.release(self._objects.release_stream(candidate.id, done.transactions_left)):
                    done.streams += self._reclaim_one(candidate.id, done)
            except DurableStreamError as exc:
                done.could_not("an expired stream", exc)
                later = now + int(self._settings.retry_after * SECOND)
                put_off = partial(retention.put_off, stream_id=candidate.id, until=later)
                self._database.change(put_off, self._timeout)

    def _reclaim_one(self, stream_id: int, done: _Pass) -> bool:
        """Remove the items of a stream, as far as the budget goes; return whether all are gone."""
        while not done.spent:
            done.transactions_left -= 1
            most = min(CHUNK_ITEMS, done.items_left)
            reclaimed = self._database.change(partial(retention.reclaim, stream_id=stream_id, most=most), self._timeout)
            done.items += reclaimed.items
            done.items_left -= reclaimed.items
            if reclaimed.done:
                return True
            if not reclaimed.items:
                # Somebody else is at it.
                return False
        return False

    def _prune(self, until: int, done: _Pass) -> None:
        for due in self._each(retention.ended_runs, until, done):
            try:
                if not done.release(self._objects.release_run(due.id, done.transactions_left)):
                    continue
                delete = partial(retention.delete_run, run=due.run, only=due.id)
                if self._database.change(delete, self._timeout):
                    done.runs += 1
            except DurableStreamError as exc:
                done.could_not("a run", exc)
                later = until + int(self._settings.retry_after * SECOND)
                put_off = partial(retention.put_off_run, run_id=due.id, until=later)
                self._database.change(put_off, self._timeout)

    def _discard(self, now: int, done: _Pass) -> None:
        grace = self._objects.grace
        for candidate in self._each(claims.discardable, now - grace, done):
            try:
                done.payloads += self._objects.discard(candidate.id)
            except DurableStreamError as exc:
                done.could_not("a payload", exc)
                later = now - grace + int(self._settings.retry_after * SECOND)
                self._database.change(partial(claims.put_off, payload_id=candidate.id, until=later), self._timeout)

    def _each(self, find: Callable[[Ask, int, Candidate], Sequence[S]], now: int, done: _Pass) -> Iterator[S]:
        """Yield candidates in their order, one transaction of the budget each."""
        after = NONE
        while not done.spent:
            found = self._database.look(partial(_found, find, now, after))
            for candidate in found:
                if done.spent:
                    return
                done.transactions_left -= 1
                yield candidate
                after = Candidate(candidate.due, candidate.id)
            if len(found) < retention.CANDIDATES:
                return


def _found(find: Callable[[Ask, int, Candidate], Sequence[S]], now: int, after: Candidate, ask: Ask) -> Sequence[S]:
    return find(ask, now, after)
