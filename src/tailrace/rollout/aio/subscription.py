"""The awaited subscription: a listener whose ways are awaited."""

from typing import Self

from typing_extensions import override

from tailrace.broadcast.aio.listening import Listening
from tailrace.records import Closed
from tailrace.rollout.views import Following


class Subscription(Following, Listening):
    """One independent listener. One-shot; only ``close`` may be called from other tasks or threads.

    ``async with`` it, then ``receive`` or ``async for``, which ends when the subscription does.
    """

    @override
    async def __aenter__(self) -> Self:
        await self._listener.enter()
        return self

    @override
    async def receive(self, timeout: float = 0.1) -> bytes | Closed | None:
        """Wait up to ``timeout`` seconds for the next event; see the blocking one. Cancelling it loses none."""
        return await self._listener.receive(timeout)

    @override
    def close(self) -> None:
        self._listener.close()
