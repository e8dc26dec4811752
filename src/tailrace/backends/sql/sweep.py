"""Applying retention to all topics, a little at a time.

A sweep goes through its tasks in turn, each of them through its candidates in the order of an index, one short
transaction for each. Where the budget ends it, the next one goes on, also past a topic that is large or fails: no
topic keeps the others from their turn.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from tailrace.backends.sql.cuts import Cut, bound
from tailrace.errors import StoreUnusableError
from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import SweepBudget, SweepReport, SweepTally

_log = logging.getLogger("tailrace.store")

BATCH = 100
"""Candidates that are looked up at once, and graves that are removed at once."""

SLICE = 5000
"""Topics whose sizes are looked at by one statement."""

Key = tuple[int, int]
START: Key = (-(2**63), -(2**63))
_END: Key = (2**63 - 1, 2**63 - 1)


class Candidate(NamedTuple):
    """A topic that a task may have to do with.

    Attributes:
        value: By which the candidates are ordered, and after it by ``id``.
    """

    value: int
    id: int
    name: str
    records: int
    size: int

    @property
    def key(self) -> Key:
        """Where it stands among the candidates."""
        return self.value, self.id


class Ground(Protocol):
    """What a sweep needs of a store. Each call is short, and nobody waits for it for longer than that.

    Ages are stamps by the store's clock: ``stamp`` makes them.
    """

    def stamp(self, ago: float) -> int:
        """Return the stamp of that many seconds ago; 0 for anything before the epoch."""
        ...

    def aged(self, before: int, after: Key) -> Sequence[Candidate]:
        """Return some topics whose earliest record is older than a stamp, which is their value."""
        ...

    def overfull(self, records: int, size: int, after: Key) -> Sequence[Candidate]:
        """Return those among the next ``SLICE`` topics that have more than that, and the last one of them anyway.

        Their value is their id. Nothing indexes sizes: where all topics have to be gone through, it is done in steps.
        """
        ...

    def idle(self, before: int, after: Key) -> Sequence[Candidate]:
        """Return some empty, unsealed topics without an append since a stamp; their value is that of the last one."""
        ...

    def cut(self, candidate: Candidate, keep: Retention, oldest: int, room: int) -> Cut | None:
        """Remove at most ``room`` records that are not kept, unless the name has begun another life.

        Returns:
            ``None`` if somebody else holds the topic locked, and goes on to.
        """
        ...

    def forget(self, candidate: Candidate, before: int) -> bool:
        """End the life of a topic if it is still idle; return whether it was."""
        ...

    def next_remains(self, after: int) -> int | None:
        """Return the first topic with a greater id whose life has ended, and whose records have not been reclaimed."""
        ...

    def reclaim(self, topic_id: int, room: int) -> int:
        """Remove up to ``room`` records of such a topic; fewer than that: they were the last."""
        ...

    def expire(self, before: int) -> int:
        """Forget some deleted lives that ended before a stamp; fewer than ``BATCH``: they were the last."""
        ...


class Sweeper:
    """Sweeps one store, and remembers where it ended. One sweep at a time makes sense; more do no harm."""

    def __init__(self, ground: Ground, options: StoreOptions) -> None:
        self._ground = ground
        self._options = options
        self._task = 0
        self._at: dict[str, Key] = {}

    def sweep(self, budget: SweepBudget) -> SweepReport:
        """Do what the budget allows.

        Raises:
            StoreUnusableError: Nothing worked. Single topics that fail are logged and passed.
        """
        tally = SweepTally(budget)
        tasks = (self._reclaim, self._age, self._overfull, self._forget, self._expire)
        done = True
        for _ in tasks:
            done = tasks[self._task](tally)
            if not done:
                break
            self._task = (self._task + 1) % len(tasks)
        return tally.report(done=done)

    def _reclaim(self, tally: SweepTally) -> bool:
        after = 0
        while (found := self._ground.next_remains(after)) is not None:
            after = found
            removed = room = tally.room
            while removed == room:
                room = tally.room
                if not room:
                    return False
                removed = self._ground.reclaim(found, room)
                tally.records += removed
        return True

    def _age(self, tally: SweepTally) -> bool:
        if self._options.strictest.max_age is None:
            return True
        oldest = oldest_kept(self._options.strictest, self._options, self._ground.stamp)

        def aged(found: Candidate) -> bool:
            return found.value < oldest_kept(self._options.kept(found.name), self._options, self._ground.stamp)

        return self._go_round("age", tally, lambda after: self._ground.aged(oldest, after), aged, self._cut)

    def _overfull(self, tally: SweepTally) -> bool:
        # Appends keep these limits themselves: what is left is topics without one since a limit was lowered.
        keep = self._options.strictest
        if keep.max_records is None and keep.max_bytes is None:
            return True
        records, size = bound(keep.max_records), bound(keep.max_bytes)

        def over(found: Candidate) -> bool:
            own = self._options.kept(found.name)
            return found.records > bound(own.max_records) or found.size > bound(own.max_bytes)

        return self._go_round(
            "overfull", tally, lambda after: self._ground.overfull(records, size, after), over, self._cut
        )

    def _forget(self, tally: SweepTally) -> bool:
        if self._options.forget_after is None:
            return True
        idle = self._ground.stamp(self._options.forget_after)

        def forget(found: Candidate, tally: SweepTally) -> bool:
            tally.forgotten += self._ground.forget(found, idle)
            return True

        return self._go_round("forget", tally, lambda after: self._ground.idle(idle, after), lambda _: True, forget)

    def _expire(self, tally: SweepTally) -> bool:
        before = self._ground.stamp(self._options.tombstone_for)
        while self._ground.expire(before) == BATCH:
            if not tally.room:
                return False
        return True

    def _go_round(
        self,
        task: str,
        tally: SweepTally,
        look: Callable[[Key], Sequence[Candidate]],
        due: Callable[[Candidate], bool],
        handle: Callable[[Candidate, SweepTally], bool],
    ) -> bool:
        """Go from where the last sweep ended to the end, and from the start to there; say whether that was all.

        Args:
            look: Returns the next candidates after a key.
            due: Whether one of them is to be handled.
        """
        start = self._at.pop(task, START)
        for first, last in ((start, _END), (START, start)):
            for found in _batches(look, first):
                if found.key > last:
                    break
                # Asked for each one that is passed, too: a million of them are no short round.
                if not tally.room or (due(found) and not _guarded(handle, found, tally)):
                    # After it, not at it: a topic that fills every budget must not be the only one that gets any.
                    self._at[task] = found.key
                    return False
            if start == START:
                break
        return True

    def _cut(self, found: Candidate, tally: SweepTally) -> bool:
        keep = self._options.kept(found.name)
        oldest = oldest_kept(keep, self._options, self._ground.stamp)
        while room := tally.room:
            cut = self._ground.cut(found, keep, oldest, room)
            if cut is None:
                tally.passed += 1
                return True
            tally.records += cut.records
            tally.bytes += cut.bytes
            if not cut.more:
                return True
        return False


def oldest_kept(retention: Retention, options: StoreOptions, stamp: Callable[[float], int]) -> int:
    """Return the earliest stamp that is kept by age.

    A record is stamped before its commit and counts from when it became readable: the longest that an append may
    take lies between the two.
    """
    if retention.max_age is None:
        return 0
    return stamp(retention.max_age + options.append_timeout)


def _batches(look: Callable[[Key], Sequence[Candidate]], after: Key) -> Iterator[Candidate]:
    while found := look(after):
        yield from found
        after = found[-1].key


def _guarded(handle: Callable[[Candidate, SweepTally], bool], found: Candidate, tally: SweepTally) -> bool:
    try:
        finished = handle(found, tally)
    except StoreUnusableError as exc:
        tally.failures.append(exc)
        _log.warning("a topic could not be swept and was passed: %s", exc)
        return True
    tally.topics += 1
    return finished
