"""Changing topics: appending and sealing. Each is one statement, so that it is done or not done, and never half.

``grow`` is what appends do nearly always. Topics that it did not find, because they are new or because somebody else
holds them, are the business of ``bear``; who can not have them now is deferred, or goes round again if he may wait.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from psycopg.types.numeric import Int8

from tailrace.backends.handle import patience
from tailrace.backends.postgres.session import Session
from tailrace.backends.postgres.statements import Statements
from tailrace.backends.sql.batches import Batch, by_topic, in_order, sealed
from tailrace.backends.sql.cuts import overfull
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.limits import MAX_PAYLOAD_BYTES
from tailrace.options import StoreOptions
from tailrace.spi import AppendDeferred, AppendOutcome, AppendRefused, AppendUnknown, Entry
from tailrace.spi.identities import random_incarnation, random_tag

MAX_BYTES = 2**29
"""Payload bytes in one statement: the server takes less than twice as many."""

_LOCKED = "its topic is locked by another transaction: nothing was stored"

_log = logging.getLogger("tailrace.store")

Outcomes = dict[str, Sequence[AppendOutcome]]


class Writing:
    """Thread-safe.

    Args:
        prompt: Statements that pass over what somebody else has locked.
        patient: The same, that wait for it.
        moved: Called with topics that changed, after their commit.
        cut: Called with a topic, and how many of its records may be removed, where its limits are passed.
    """

    def __init__(
        self,
        session: Session,
        prompt: Statements,
        patient: Statements,
        options: StoreOptions,
        moved: Callable[[Sequence[str]], None],
        cut: Callable[[str, int], None],
    ) -> None:
        self._session = session
        self._prompt, self._patient = prompt, patient
        self._options = options
        self._moved = moved
        self._cut = cut

    def append(self, entries: Sequence[Entry], timeout: float) -> Sequence[AppendOutcome]:
        """Store entries of many topics; return one outcome for each."""
        deadline = time.monotonic() + timeout
        batches = by_topic(entries)
        if len(batches) == 1 and not _too_much(batches[0]):
            return self._append(batches, deadline)[batches[0].topic]
        found: Outcomes = {batch.topic: batch.all(_refused()) for batch in batches if _too_much(batch)}
        for some in _portions([batch for batch in batches if batch.topic not in found]):
            found |= self._append(some, deadline)
        return in_order([(batch, found[batch.topic]) for batch in batches])

    def seal(self, topic: str, error: str | None) -> None:
        """End a topic."""
        seconds = patience(self._options)
        values = {
            "name": topic.encode(),
            "incarnation": Int8(random_incarnation()),
            "error": None if error is None else error.encode(),
            "patience": _milliseconds(seconds),
        }
        ((changed,),) = self._session.ask(self._patient.seal, values, time.monotonic() + seconds, "append")
        if changed:
            self._moved([topic])

    def _append(self, batches: Sequence[Batch], deadline: float) -> Outcomes:
        found: Outcomes = {}
        stored: list[tuple[Batch, int, int]] = []
        missing = batches
        while missing:
            try:
                missing = self._round(missing, deadline, found, stored)
            except DurableStreamUnavailableError as exc:
                # What an earlier statement has stored is stored.
                failed = AppendUnknown(exc) if exc.maybe_stored else AppendRefused(exc)
                found |= {batch.topic: batch.all(failed) for batch in missing if batch.topic not in found}
                break
        if stored:
            self._moved([batch.topic for batch, _, _ in stored])
            for batch, records, size in stored:
                if overfull(self._options.kept(batch.topic), records, size):
                    self._cut(batch.topic, len(batch.payloads))
        return found

    def _round(
        self, batches: Sequence[Batch], deadline: float, found: Outcomes, stored: list[tuple[Batch, int, int]]
    ) -> Sequence[Batch]:
        """Grow topics, and begin those that are missing; return those of which nothing is known yet."""
        patient = all(batch.may_wait for batch in batches)
        statements = self._patient if patient else self._prompt
        tag = random_tag()
        values: dict[str, Any] = {"tag": Int8(tag)}
        if patient:
            left = deadline - time.monotonic()
            if left <= 0:
                raise DurableStreamUnavailableError(_LOCKED)
            values["patience"] = _milliseconds(left)
        rest = batches
        for statement, how in ((statements.grow, _single), (statements.grow_all, _several), (statements.bear, _born)):
            if how is (_several if len(batches) == 1 else _single):
                continue
            rows = self._session.ask(statement, {**values, **how(rest)}, deadline, "append")
            for number, incarnation, last, records, size in rows:
                batch = rest[number - 1]
                if incarnation is None:
                    found[batch.topic] = batch.all(sealed())
                    continue
                found[batch.topic] = batch.appended(incarnation, last - len(batch.payloads), tag)
                stored.append((batch, records, size))
            rest = [batch for batch in rest if batch.topic not in found]
            if not rest:
                break
        if patient:
            return rest
        found |= {batch.topic: batch.all(AppendDeferred()) for batch in rest}
        return ()


def _too_much(batch: Batch) -> bool:
    return len(batch.payloads) > MAX_BYTES // MAX_PAYLOAD_BYTES and batch.sizes[0] > MAX_BYTES


def _refused() -> AppendOutcome:
    return AppendRefused(StoreUnusableError(f"the store takes no more than {MAX_BYTES} bytes of a topic at once"))


def _single(batches: Sequence[Batch]) -> Mapping[str, Any]:
    (batch,) = batches
    size, largest = batch.sizes
    return {
        "name": batch.topic.encode(),
        "count": Int8(len(batch.payloads)),
        "size": Int8(size),
        "largest": Int8(largest),
        "payloads": [*batch.payloads],
    }


def _several(batches: Sequence[Batch]) -> Mapping[str, Any]:
    counts = [len(batch.payloads) for batch in batches]
    sizes = [batch.sizes for batch in batches]
    return {
        "names": [batch.topic.encode() for batch in batches],
        "counts": [*map(Int8, counts)],
        "sizes": [Int8(size) for size, _ in sizes],
        "largests": [Int8(largest) for _, largest in sizes],
        "starts": [Int8(start) for start in accumulate(counts[:-1], initial=0)],
        "payloads": [payload for batch in batches for payload in batch.payloads],
        "owners": [Int8(number) for number, count in enumerate(counts, 1) for _ in range(count)],
    }


def _born(batches: Sequence[Batch]) -> Mapping[str, Any]:
    return {**_several(batches), "incarnations": [Int8(random_incarnation()) for _ in batches]}


def _portions(batches: Sequence[Batch]) -> Sequence[Sequence[Batch]]:
    """Return what is sent together: those that may wait apart from those that may not, and no more than fits."""
    portions: list[list[Batch]] = []
    for patient in (False, True):
        room = 0
        for batch in batches:
            if batch.may_wait == patient:
                size, _ = batch.sizes
                if size > room:
                    portions.append([])
                    room = MAX_BYTES
                portions[-1].append(batch)
                room -= size
    return portions


def _milliseconds(seconds: float) -> str:
    # A little less than the caller has: the answer that nothing was stored is worth more than none.
    return str(max(1, int(seconds * 900)))
