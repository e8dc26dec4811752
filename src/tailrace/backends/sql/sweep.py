"""Applying retention to all topics, a little at a time.

A sweep goes through its tasks in turn, each of them through its candidates in the order of an index, one short
transaction for each. Where the budget ends it, the next one goes on, also past a topic that is large or fails: no
topic keeps the others from their turn.
"""

import logging
from collections.abc import Callable, Iterator, Sequence

from tailrace.backends.sql.cuts import bound
from tailrace.backends.sql.ground import BATCH, Candidate, Ground, Key
from tailrace.errors import StoreUnusableError
from tailrace.options import StoreOptions
from tailrace.retention import Retention
from tailrace.spi import SweepBudget, SweepReport, SweepTally

_log = logging.getLogger("tailrace.store")

START: Key = (-(2**63), -(2**63))
_END: Key = (2**63 - 1, 2**63 - 1)


class Sweeper:
    """Sweeps one store, and remembers where it ended. One sweep at a time makes sense; more do no harm."""

    def __init__(self, ground: Ground, options: StoreOptions) -> None:
        self._ground = ground
        self._options = options
        self._task = self._failed = 0
        self._at: dict[str, Key] = {}

    def sweep(self, budget: SweepBudget) -> SweepReport:
        """Do what the budget allows.

        Raises:
            StoreUnusableError: Nothing worked. Single topics that fail are logged and passed.
        """
        tally = SweepTally(budget)
        tasks = (self._reclaim, self._age, self._overfull, self._forget, self._expire)
        for _ in tasks:
            task = self._task
            # Before it is done: one that fails each time must not keep the others from their turn.
            self._task = (task + 1) % len(tasks)
            if not tasks[task](tally):
                self._task = task
                return tally.report(done=False)
        return tally.report(done=True)

    def _reclaim(self, tally: SweepTally) -> bool:
        # After the one that failed last time, if there is one: it has its turn again when the others have had theirs.
        start, self._failed = self._failed, 0
        after = start
        while (found := self._ground.next_remains(after)) is not None:
            after = found
            try:
                if not self._reclaim_one(found, tally):
                    return False
            except BaseException:
                self._failed = found
                raise
        return not start

    def _reclaim_one(self, topic_id: int, tally: SweepTally) -> bool:
        while room := tally.room:
            removed = self._ground.reclaim(topic_id, room)
            if removed is None:
                tally.passed += 1
                return True
            tally.records += removed
            if removed < room:
                return True
        return False

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
            forgotten = self._ground.forget(found, idle)
            if forgotten is None:
                tally.passed += 1
            else:
                tally.forgotten += forgotten
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
        start = self._at.get(task, START)
        for first, last in ((start, _END), (START, start)):
            for found in _batches(look, first):
                if found.key > last:
                    break
                # After it, not at it: a topic that fills every budget, or fails every time, must not be the only one
                # that gets any.
                self._at[task] = found.key
                # Asked for each one that is passed, too: a million of them are no short round.
                if not tally.room or (due(found) and not _guarded(handle, found, tally)):
                    return False
            if start == START:
                break
        self._at.pop(task, None)
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
