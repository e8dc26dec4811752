"""What becomes of a message on a channel: it is the message, or (``replay.py``) a hint that there is one to be read."""

from abc import ABC, abstractmethod

from typing_extensions import override

from tailrace.backends.redis.broadcast.names import Names
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Listener, Mark


class Reception(ABC):
    """Between the channels of a line and its listener. Used by the thread of the line.

    Attributes:
        due: When ``look`` has to be called, at the latest.
    """

    due = float("inf")

    def __init__(self, names: Names, listener: Listener) -> None:
        self._names = names
        self._listener = listener
        self._topics: dict[bytes, str] = {}
        # Of all that was ever asked and is not answered: a topic that was left meanwhile has its answers coming.
        self._owed: dict[bytes, tuple[str, int]] = {}

    @abstractmethod
    def channel_of(self, topic: str) -> bytes:
        """Return the channel that is listened to for a topic."""

    def follow(self, topic: str, start: Mark | None) -> bytes:
        """Note that a topic is followed from now on; return its channel."""
        channel = self.channel_of(topic)
        self._topics[channel] = topic
        self._owed[channel] = (topic, self._owed.get(channel, ("", 0))[1] + 1)
        return channel

    def leave(self, topic: str) -> bytes:
        """Note that it is not; return its channel."""
        channel = self.channel_of(topic)
        self._topics.pop(channel, None)
        return channel

    def joined(self, channel: bytes) -> None:
        """Tell the listener that the oldest ``follow`` holds."""
        topic, count = self._owed.pop(channel, ("", 0))
        if not count:
            # It was lost before this answer came, and told as that.
            return
        if count > 1:
            self._owed[channel] = (topic, count - 1)
        self._listener.joined(topic)

    def lost(self, channel: bytes, error: DurableStreamUnavailableError) -> None:
        """Tell the listener that a topic is heard no more."""
        topic, _ = self._owed.pop(channel, (self._topics.get(channel), 0))
        self._topics.pop(channel, None)
        if topic is not None:
            self._listener.lost(topic, error)

    @abstractmethod
    def message(self, channel: bytes, payload: bytes) -> None:
        """Take what came over a channel."""

    def look(self) -> bool:
        """Do what is due; return whether there is more to be done at once."""
        return False


class Direct(Reception):
    """What is published is the message."""

    @override
    def channel_of(self, topic: str) -> bytes:
        return self._names.of(topic).channel

    @override
    def message(self, channel: bytes, payload: bytes) -> None:
        topic = self._topics.get(channel)
        if topic is not None:
            self._listener.heard(topic, payload, None)
