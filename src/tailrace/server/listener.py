"""One stream of hints, from the bell's thread to the coroutine that sends it."""

import asyncio
from collections.abc import Iterable, Mapping

from tailrace.aio.waker import Waker
from tailrace.sse import Stop
from tailrace.wire import Hints


class Listener:
    """What one client follows, and what it has not been told yet. The bell's lock guards it.

    Args:
        topics: By number; those that the principal may not read are left out.
        waker: Of the loop that sends.
    """

    def __init__(self, topics: Mapping[str, list[int]], waker: Waker) -> None:
        self.topics = topics
        self._waker = waker
        self._moved: set[str] = set()
        self._anything = False
        self._future: asyncio.Future[None] | None = None
        self.confirmed = False
        self.reliable = True
        self.told_reliable = True
        self.end: str | None = None

    def moved(self, topics: Iterable[str]) -> None:
        """Note that topics moved."""
        self._moved.update(topics)
        self.wake()

    def anything(self) -> None:
        """Note that any topic may have moved."""
        self._anything = True
        self.wake()

    def ended(self, reason: str) -> None:
        """Note that there will be no more."""
        if self.end is None:
            self.end = reason
        self.wake()

    def stop(self, why: Stop) -> None:
        """End the stream, for the client to open another one. In the loop's thread."""
        # Without the bell's lock, which is held for no longer than a look: an end is only ever set.
        self.ended("the server ends this stream" if why is Stop.LATER else "the client is gone")

    def wake(self) -> None:
        """Let the coroutine look again. Any thread."""
        future = self._future
        if future is not None:
            self._waker.wake(future)

    def await_news(self, future: "asyncio.Future[None] | None") -> None:
        """Have a future resolved by the next ``wake``."""
        self._future = future

    @property
    def has_news(self) -> bool:
        """Whether something is to be sent."""
        return bool(self._moved or self._anything or self.end is not None or self.reliable is not self.told_reliable)

    def take(self, silence: float) -> Hints:
        """Return what is to be sent."""
        moved, self._moved = self._moved, set()
        anything, self._anything = self._anything, False
        self.told_reliable = self.reliable
        numbers = [number for topic in moved for number in self.topics.get(topic, ())]
        return Hints(numbers, anything, self.reliable, silence, self.end)
