"""The two ways of a topic as the rules see them: awaited, whatever the colour of whoever uses them.

The awaited channel and the awaited streams are these as they are; ``immediate`` makes them of the blocking ones.
"""

from typing import Any, Protocol

from tailrace.records import Closed, DurableStreamRecord, TopicCursor


class Opened(Protocol):
    """What is to be closed."""

    def close(self) -> None:
        """End it. Idempotent, never raises, from any thread; whoever waits there is let go."""
        ...


class Live(Opened, Protocol):
    """A subscription to the channel."""

    @property
    def dropped(self) -> int:
        """How many messages are known to have been dropped."""
        ...

    async def __aenter__(self) -> Any:  # noqa: ANN401 - itself, of whatever type
        """Begin to listen."""
        ...

    async def receive(self, timeout: float = 0.1) -> bytes | Closed | None:
        """Wait for the next message."""
        ...


class Kept(Opened, Protocol):
    """A subscription to the stream."""

    @property
    def cursor(self) -> TopicCursor:
        """After what was returned last, or the start."""
        ...

    async def __aenter__(self) -> Any:  # noqa: ANN401 - itself, of whatever type
        """Begin to read."""
        ...

    async def receive(self, timeout: float = 0.1) -> DurableStreamRecord | Closed | None:
        """Wait for the next record."""
        ...


class LiveTopic(Protocol):
    """A topic of the channel."""

    async def publish(self, payload: bytes) -> None:
        """Send one message."""
        ...

    async def subscribe(self) -> Live:
        """Return a subscription to be entered."""
        ...

    async def prepare(self) -> Live:
        """Return a subscription that misses nothing from now on."""
        ...


class KeptTopic(Protocol):
    """A topic of the store."""

    async def append(self, payload: bytes) -> None:
        """Append one record."""
        ...

    async def checkpoint(self) -> TopicCursor:
        """Return the place of the last record."""
        ...

    async def subscribe_from_cursor(self, cursor: TopicCursor, /) -> Kept:
        """Return a subscription to what is after a place."""
        ...

    async def subscribe_from_tail(self) -> Kept:
        """Return a subscription to what is appended from now on."""
        ...
