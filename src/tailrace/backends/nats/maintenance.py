"""Operations on a NATS store: list, trim, delete, sweep."""

import asyncio
from collections.abc import Sequence

from typing_extensions import override

from tailrace.backends.nats.core import Core
from tailrace.backends.nats.stored import Stored
from tailrace.retention import Retention
from tailrace.spi import Maintenance, SweepBudget, SweepReport, TopicInfo

AT_ONCE = 64
"""Topics that are looked at in one go."""

ROOM = 2**31
"""Records that a trim may remove."""


class NatsMaintenance(Maintenance):
    """The ``Maintenance`` half of the store."""

    _core: Core

    @override
    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[TopicInfo]:
        """List existing topics in byte order. Looks at all topics of the store, whatever the limit."""
        found = self._core.run(self._every)
        named = ((message.frame.name, message) for message in found if not message.ended)
        later = [(name, each) for name, each in named if name.startswith(prefix) and name.encode() > after.encode()]
        return [_info(name, each) for name, each in sorted(later, key=lambda pair: pair[0].encode())[:limit]]

    @override
    def trim(self, topic: str, retention: Retention) -> int:
        core = self._core

        async def cut(deadline: float) -> int:
            oldest = 0 if retention.max_age is None else core.session.now - int(retention.max_age * 1e6)
            return (await core.upkeep.cut(topic, retention, oldest, ROOM, deadline))[0]

        return core.run(cut)

    @override
    def delete(self, topic: str) -> bool:
        return self._core.run(lambda deadline: self._core.upkeep.bury(topic, deadline))

    @override
    def sweep(self, budget: SweepBudget) -> SweepReport:
        seconds = budget.max_seconds + self._core.patience
        return self._core.run(lambda deadline: self._core.sweeper.sweep(budget, deadline), seconds)

    async def _every(self, deadline: float) -> list[Stored]:
        keys = await self._core.looking.keys(deadline)
        found: list[Stored] = []
        for start in range(0, len(keys), AT_ONCE):
            some = (self._core.looking.newest_of(key, deadline) for key in keys[start : start + AT_ONCE])
            found += (each for each in await asyncio.gather(*some) if each is not None)
        return found


def _info(name: str, message: Stored) -> TopicInfo:
    state = message.state
    touched = state.touched / 1e6 if state.records else None
    return TopicInfo(name, state.records - state.gone, state.size - state.gone_size, touched, state.seal)
