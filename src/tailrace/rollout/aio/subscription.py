"""The awaited subscription: a listener whose ways are awaited."""

from types import TracebackType
from typing import Self

from tailrace import arguments
from tailrace.records import CLOSED, Closed, TopicCursor
from tailrace.rollout.listener import Listener


class Subscription:
    """One independent listener. One-shot; only ``close`` may be called from other tasks or threads.

    ``async with`` it, then ``receive`` or ``async for``, which ends when the subscription does.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    @property
    def cursor(self) -> TopicCursor | None:
        """Where to resume after the last event: known while it is at the stream, or on its way there; else ``None``."""
        return self._listener.cursor

    @property
    def at_both(self) -> bool:
        """Whether it follows both ways at the moment."""
        return self._listener.at_both

    @property
    def dropped(self) -> int:
        """How many live messages are known to have been dropped."""
        return self._listener.dropped

    async def __aenter__(self) -> Self:
        """Begin to listen; see the blocking one."""
        await self._listener.enter()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.close()

    async def receive(self, timeout: float = 0.1) -> bytes | Closed | None:
        """Wait up to ``timeout`` seconds for the next event; see the blocking one. Cancelling it loses none."""
        return await self._listener.receive(timeout)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while True:
            event = await self.receive(arguments.FOREVER)
            if event is CLOSED:
                raise StopAsyncIteration
            if isinstance(event, bytes):
                return event

    def close(self) -> None:
        """End this subscription. Idempotent, never raises, does not block; from any thread or task."""
        self._listener.close()
