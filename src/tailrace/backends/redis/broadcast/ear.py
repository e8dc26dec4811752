"""One connection that is subscribed to channels, and tells what happens on them in the order of the connection.

Every subscription is confirmed for itself, also to a channel that was subscribed to before: what the server did before
it stands before its confirmation on the connection, and what it does afterwards stands behind.
"""

import time
from collections import deque
from typing import Any, NamedTuple, Protocol

from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.pulse import RedisPulse
from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError

_WORDS = {
    False: (b"SUBSCRIBE", b"UNSUBSCRIBE", b"subscribe", b"unsubscribe", b"message"),
    True: (b"SSUBSCRIBE", b"SUNSUBSCRIBE", b"ssubscribe", b"sunsubscribe", b"smessage"),
}


class Wish(NamedTuple):
    """A change that was asked for. ``hops``: how often it was sent elsewhere."""

    subscribe: bool
    channel: bytes
    hops: int = 0


class Told(Protocol):
    """Who is told what happens on channels."""

    def joined(self, channel: bytes) -> None:
        """Note a confirmed subscription."""
        ...

    def message(self, channel: bytes, payload: bytes) -> None:
        """Take a message."""
        ...

    def lost(self, channel: bytes, error: DurableStreamUnavailableError) -> None:
        """Note that a channel is heard no more."""
        ...


class Ear(RedisPulse):
    """Not thread-safe. Raises ``OSError`` when the connection is broken.

    Args:
        sharded: Whether channels belong to the nodes of their slots.
        told: Who is told.

    Attributes:
        moved: Wishes that this node sent elsewhere, with its words; to be taken by whoever reads.
    """

    def __init__(self, wire: Wire, name: str, patience: float, told: Told, *, sharded: bool) -> None:
        super().__init__(wire, name, patience)
        self.moved: list[tuple[Wish, Exception]] = []
        self._told = told
        self._subscribe, self._unsubscribe, self._subscribed, self._unsubscribed, self._message = _WORDS[sharded]
        self._channels: set[bytes] = set()
        self._wishes: deque[Wish] = deque()

    def change(self, wishes: list[Wish]) -> None:
        """Ask for changes, one command for each: channels of several slots may not be in one."""
        self._wishes += wishes
        verbs = ((self._subscribe if wish.subscribe else self._unsubscribe, wish.channel) for wish in wishes)
        self.wire.send(b"".join([pack(words) for words in verbs]), time.monotonic() + self._patience)

    def hear(self) -> None:
        """Tell what has arrived."""
        for message in self.messages():
            if isinstance(message, Exception):
                self._refused(message)
            elif isinstance(message, list):
                self._take(message)

    def hears(self, channel: bytes) -> bool:
        """Return whether a channel is subscribed to, or will be."""
        return channel in self._channels or any(wish.subscribe and wish.channel == channel for wish in self._wishes)

    def all(self) -> set[bytes]:
        """Return the channels that are subscribed to, or will be, or were wished for here."""
        wishes = [*self._wishes, *(wish for wish, _ in self.moved)]
        return self._channels | {wish.channel for wish in wishes if wish.subscribe}

    def _take(self, message: list[Any]) -> None:
        kind, channel = message[0], message[1]
        if kind == self._message:
            self._told.message(channel, message[2])
        elif kind == self._subscribed:
            self._wishes.popleft()
            self._channels.add(channel)
            self._told.joined(channel)
        elif kind == self._unsubscribed:
            self._left(channel)

    def _left(self, channel: bytes) -> None:
        if self._wishes and self._wishes[0][:2] == (False, channel):
            self._wishes.popleft()
            self._channels.discard(channel)
        elif channel in self._channels:
            # Nobody asked for it: its slot has moved. What is published now is published elsewhere.
            self._channels.discard(channel)
            self._told.lost(channel, DurableStreamUnavailableError(f"{self._name} has handed it to another node"))

    def _refused(self, error: Exception) -> None:
        # Confirmations and refusals come in the order of what was asked.
        if not self._wishes:
            return
        wish = self._wishes.popleft()
        if str(error).startswith("MOVED "):
            self.moved.append((wish, error))
        elif wish.subscribe:
            self._told.lost(wish.channel, explain(error, self._name))
