"""The two ways of a topic, and which of them listeners are to be at."""

from typing import Protocol

from tailrace import broadcast
from tailrace.subscription import Subscription as Kept
from tailrace.topic import Topic as Stream


class Ways(Protocol):
    """What a subscription needs of its topic."""

    overlap: float
    stream: Stream

    def at_stream(self) -> bool:
        """Whether listeners are to be at the stream now."""
        ...

    def live(self) -> broadcast.Subscription:
        """Return a new subscription to the channel."""
        ...

    def kept(self) -> Kept:
        """Return a new subscription to the stream, from its tail."""
        ...
