"""Sweeping: step by step over all topics, a look at each, and a cut where something is not kept any more.

A sweep that its budget ends remembers where it was; the next one goes on there. It is done at the end of the scan.
"""

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tailrace.backends.redis.identity import EPOCH_MS, Identity, milliseconds
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.spi import SweepBudget, SweepReport, SweepTally

if TYPE_CHECKING:
    from tailrace.backends.redis.maintenance import Operations

SKEW_MS = 60_000
"""How far this host's clock may be behind the server's before a cut comes late."""

_log = logging.getLogger("tailrace.redis")


@dataclass(slots=True)
class Tally(SweepTally):
    """With the last error of a node that is away."""

    away: DurableStreamUnavailableError | None = None


@dataclass(slots=True)
class Round:
    """Where one round over all topics is.

    Attributes:
        node: Which node is scanned.
        cursor: Where the next step of its scan begins.
        found: Topics of the last step that are still to be tended.
        last_step: Whether that was the last one.
    """

    node: int = 0
    cursor: bytes = b"0"
    found: list[tuple[str, Identity]] = field(default_factory=list)
    last_step: bool = False


class Sweeper:
    """Sweeps one store. Thread-safe. One sweep at a time makes sense; more do no harm."""

    def __init__(self, operations: "Operations") -> None:
        self._operations = operations
        self._interrupted: list[Round] = []

    def sweep(self, budget: SweepBudget) -> SweepReport:
        """Do what the budget allows.

        Raises:
            StoreUnusableError: Nothing worked. Single topics that fail are logged and passed.
            DurableStreamUnavailableError: The server is away. One of several nodes is logged and passed, and the sweep
                is not done.
        """
        tally = Tally(budget)
        try:
            # Taken out: two sweeps on one round would skip what the other one had just found. The second begins anew.
            current = self._interrupted.pop()
        except IndexError:
            current = Round()
        try:
            done = self._go_on(current, tally)
        finally:
            self._interrupted[:] = [current]
        if tally.away is not None and not tally.topics:
            raise tally.away
        return tally.report(done=done and tally.away is None)

    def _go_on(self, current: Round, tally: Tally) -> bool:
        while True:
            while current.found:
                if not self._tend(*current.found[-1], tally):
                    return False
                current.found.pop()
            if current.last_step:
                current.node, current.last_step = 0, False
                return True
            if not tally.room:
                return False
            self._step(current, tally)

    def _step(self, current: Round, tally: Tally) -> None:
        names, current.cursor, more, error = self._operations.scan(current.node, current.cursor)
        if error is not None:
            if not more and current.node == 0:
                raise error
            # The topics of the other nodes do not wait for this one.
            tally.away = error
            _log.warning("a node could not be swept and was passed: %s", error)
        if current.cursor == b"0":
            current.node += 1
            current.last_step = not more
        looked = zip(names, self._operations.look(names), strict=True)
        current.found = [(name, identity) for name, identity in looked if identity is not None]

    def _tend(self, name: str, identity: Identity, tally: Tally) -> bool:
        """Do what one topic needs; say whether there was room for all of it."""
        try:
            if self._overdue(name, identity) and not self._cut(name, tally):
                return False
            forget_after = self._operations.options.forget_after
            if forget_after is not None and self._idle(identity):
                tally.forgotten += self._operations.bury(name, forget_after)
        except StoreUnusableError as exc:
            tally.failures.append(exc)
            _log.warning("a topic could not be swept and was passed: %s", exc)
            return True
        tally.topics += 1
        return True

    def _overdue(self, name: str, identity: Identity) -> bool:
        keep = self._operations.options.kept(name)
        if not identity.records:
            return False
        grace = self._operations.options.append_timeout
        return (
            (keep.max_records is not None and identity.records > keep.max_records)
            or (keep.max_bytes is not None and identity.size > keep.max_bytes)
            # By this host's clock it is only a guess; the script looks at the server's.
            or (keep.max_age is not None and identity.oldest < _now() - (keep.max_age + grace) * 1000 + SKEW_MS)
        )

    def _idle(self, identity: Identity) -> bool:
        return identity.bounds.seal is None and bool(milliseconds(identity.last_low))

    def _cut(self, name: str, tally: Tally) -> bool:
        options = self._operations.options
        keep, more = options.kept(name), True
        while more:
            room = tally.room
            if not room:
                return False
            removed, freed, more = self._operations.cut(name, keep, options.append_timeout, room)
            tally.records += removed
            tally.bytes += freed
        return True


def _now() -> int:
    return time.time_ns() // 1_000_000 - EPOCH_MS
