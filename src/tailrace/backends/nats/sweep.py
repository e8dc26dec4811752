"""Sweeps: what has to go of all topics, a few at a time. Lives on the loop's thread."""

import asyncio
import logging

from tailrace.backends.nats.errors import ApiError, Denied, explain
from tailrace.backends.nats.looking import Looking, left
from tailrace.backends.nats.session import Session
from tailrace.backends.nats.stored import Stored, head_of
from tailrace.backends.nats.upkeep import Upkeep
from tailrace.errors import StoreUnusableError
from tailrace.options import StoreOptions
from tailrace.spi import SweepBudget, SweepReport, SweepTally

AT_ONCE = 64
"""Topics that are looked at in one go."""

_log = logging.getLogger("tailrace.store")


class Sweeper:
    """For one thread. Raises what ``Session`` raises."""

    def __init__(self, session: Session, looking: Looking, upkeep: Upkeep, options: StoreOptions) -> None:
        self._session = session
        self._looking = looking
        self._upkeep = upkeep
        self._options = options
        self._swept = ""

    async def sweep(self, budget: SweepBudget, deadline: float) -> SweepReport:
        """Do what the budget allows. A later one goes on where this one ended.

        Raises:
            StoreUnusableError: Nothing worked. Single topics that fail are logged and passed.
        """
        tally = SweepTally(budget)
        keys = await self._looking.keys(deadline)
        turn = [*(key for key in keys if key > self._swept), *(key for key in keys if key <= self._swept)]
        for start in range(0, len(turn), AT_ONCE):
            some = turn[start : start + AT_ONCE]
            looked = await asyncio.gather(*(self._look(key, tally, deadline) for key in some))
            for key, message in zip(some, looked, strict=True):
                if message is not None and not await self._tend_one(message, tally, deadline):
                    return tally.report(done=False)
                self._swept = key
        return tally.report(done=True)

    async def _look(self, key: str, tally: SweepTally, deadline: float) -> Stored | None:
        try:
            return await self._looking.newest_of(key, deadline)
        except (StoreUnusableError, ApiError, Denied) as exc:
            self._failed(tally, exc)
            return None

    async def _tend_one(self, message: Stored, tally: SweepTally, deadline: float) -> bool:
        try:
            return await self._tend(message, tally, deadline)
        except (StoreUnusableError, ApiError, Denied) as exc:
            self._failed(tally, exc)
            return True

    def _failed(self, tally: SweepTally, exc: Exception) -> None:
        error = explain(exc, self._session.name)
        if not isinstance(error, StoreUnusableError):
            raise error from exc
        tally.failures.append(error)
        _log.warning("a topic could not be swept and was passed: %s", error)

    async def _tend(self, message: Stored, tally: SweepTally, deadline: float) -> bool:
        """Do what one topic needs; say whether there was room for all of it."""
        if not tally.room or left(deadline) <= 0:
            return False
        name, head = message.frame.name, head_of(message)
        if head.state is None:
            if self._session.now - message.time > self._options.tombstone_for * 1e6:
                await self._upkeep.forget_grave(name, message, deadline)
            return True
        keep = self._options.kept(name)
        more = not keep.unbounded and head.state.horizon != head.state.last
        while more:
            room = tally.room
            if not room:
                return False
            removed, freed, more = await self._upkeep.cut(name, keep, self._cut(keep.max_age), room, deadline)
            tally.records += removed
            tally.bytes += freed
        forget_after = self._options.forget_after
        if forget_after is not None:
            tally.forgotten += await self._upkeep.bury(name, deadline, forget_after)
        tally.topics += 1
        return True

    def _cut(self, max_age: float | None) -> int:
        if max_age is None:
            return 0
        return self._session.now - int((max_age + self._options.append_timeout) * 1e6)
