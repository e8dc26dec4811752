"""Whether the store answers, for any number of probes at the cost of one look a second."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

Look: TypeAlias = Callable[[], Awaitable[object]]

FRESH = 1.0
"""Seconds that an answer of the store is good for: any number of probes cost it one look a second."""
PATIENCE = 1.0
"""Seconds that the store may take."""


class Readiness:
    """What the store said last. Of one event loop."""

    def __init__(self) -> None:
        self._probe: asyncio.Future[bool] | None = None
        self._until = 0.0

    async def answers(self, look: Look) -> bool:
        """Return whether the store answers. A look that hangs is waited for by all and begun once."""
        now = time.monotonic()
        if self._probe is None or (self._probe.done() and now >= self._until):
            self._until = now + FRESH
            self._probe = asyncio.ensure_future(_answered(look))
        done, _ = await asyncio.wait([self._probe], timeout=PATIENCE)
        return bool(done) and self._probe.result()


async def _answered(look: Look) -> bool:
    try:
        await look()
    except Exception:  # noqa: BLE001 - whatever it is, this is not a store to send requests to
        return False
    return True
