"""One connection to one node of a cluster, subscribed to the channels of the slots that it serves."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.pulse import RedisPulse
from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.slots import slot_of
from tailrace.backends.redis.wire import Wire

_CHUNK = 500


class Wish(NamedTuple):
    """A change of subscriptions that was asked for."""

    subscribe: bool
    channel: bytes


class Ear(RedisPulse):
    """Not thread-safe. Raises ``OSError`` when the connection is broken.

    Args:
        told: Called with the channel and the message of each hint.

    Attributes:
        opened: When it was.
        channels: Subscribed, or asked for.
        lost: Channels that the node does not serve any more, or never did; to be taken by whoever reads.
    """

    def __init__(self, wire: Wire, name: str, patience: float, told: Callable[[bytes, bytes], None]) -> None:
        super().__init__(wire, f"a node of {name}", patience)
        self.opened = time.monotonic()
        self.channels: set[bytes] = set()
        self.lost: set[bytes] = set()
        self._told = told
        self._wishes: deque[Wish] = deque()

    def change(self, verb: bytes, channels: Iterable[bytes]) -> None:
        """Ask for a change, one command for each channel: those of several slots may not be in one."""
        subscribe = verb == b"SSUBSCRIBE"
        wishes = [Wish(subscribe, channel) for channel in channels]
        for start in range(0, len(wishes), _CHUNK):
            some = wishes[start : start + _CHUNK]
            self._wishes += some
            if subscribe:
                self.channels.update(wish.channel for wish in some)
            data = b"".join([pack((verb, wish.channel)) for wish in some])
            self.wire.send(data, time.monotonic() + self._patience)

    def confirm(self, deadline: float) -> None:
        """Wait until all changes are confirmed, or refused.

        Raises:
            DurableStreamUnavailableError: Not in time.
        """
        while self._wishes:
            if self.await_more(deadline):
                self.hear()

    def hear(self) -> None:
        """Note what has arrived."""
        for message in self.messages():
            if isinstance(message, Exception):
                self._refused(message)
            elif isinstance(message, list):
                self._take(message)

    def _take(self, message: list[Any]) -> None:
        kind, channel = message[0], message[1]
        if kind == b"smessage":
            self._told(channel, message[2])
        elif kind == b"ssubscribe":
            self._granted(Wish(True, channel))
        elif kind == b"sunsubscribe":
            if not self._granted(Wish(False, channel)):
                # Nobody asked for it: the slot has moved to another node.
                self._lose(channel)
            else:
                self.channels.discard(channel)

    def _granted(self, wish: Wish) -> bool:
        try:
            self._wishes.remove(wish)
        except ValueError:
            return False
        return True

    def _refused(self, error: Exception) -> None:
        said = str(error)
        if not said.startswith("MOVED "):
            raise explain(error, self._name) from error
        # Found by its slot: a slot that moves just now is also told by a message of its own.
        slot = int(said.split(" ")[1])
        for wish in self._wishes:
            if slot_of(wish.channel) == slot:
                self._wishes.remove(wish)
                if wish.subscribe:
                    self._lose(wish.channel)
                else:
                    self.channels.discard(wish.channel)
                return

    def _lose(self, channel: bytes) -> None:
        if channel in self.channels:
            self.channels.discard(channel)
            self.lost.add(channel)
