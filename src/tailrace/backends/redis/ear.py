"""One connection to one node of a cluster, subscribed to the channels of the slots that it serves."""

import select
import time
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.slots import slot_of
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError

SILENCE = 5.0
"""Seconds of silence after which the node is asked whether it is there, and then has to answer."""

_CHUNK = 500


class Wish(NamedTuple):
    """A change of subscriptions that was asked for."""

    subscribe: bool
    channel: bytes


class Ear:
    """Not thread-safe. Raises ``OSError`` when the connection is broken.

    Attributes:
        channels: Subscribed, or asked for.
        told: Channels with news, to be taken by whoever reads.
        lost: Channels that the node does not serve any more, or never did; likewise.
        asked: Since when an answer to whether the node is there is missing.
    """

    def __init__(self, wire: Wire, name: str, patience: float) -> None:
        self.wire = wire
        self.channels: set[bytes] = set()
        self.told: set[bytes] = set()
        self.lost: set[bytes] = set()
        self.asked: float | None = None
        self._name = name
        self._patience = patience
        self._heard = time.monotonic()
        self._wishes: deque[Wish] = deque()

    @property
    def due(self) -> float:
        """When it has to be looked after again."""
        return (self._heard if self.asked is None else self.asked) + SILENCE

    def look_after(self, now: float) -> None:
        """Ask a node that is silent whether it is there.

        Raises:
            DurableStreamUnavailableError: It has been asked, and is silent.
        """
        if now < self.due:
            return
        if self.asked is not None:
            raise DurableStreamUnavailableError(f"a node of {self._name} has been silent for {now - self._heard:.0f} s")
        self.asked = now
        self.wire.send(pack((b"PING",)), now + self._patience)

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
        poll = select.poll()
        poll.register(self.wire.fileno(), select.POLLIN)
        while self._wishes:
            left = deadline - time.monotonic()
            if left <= 0:
                raise DurableStreamUnavailableError(f"a node of {self._name} did not confirm a subscription in time")
            if poll.poll(left * 1000):
                self.hear()

    def hear(self) -> None:
        """Note what has arrived."""
        messages = self.wire.pending()
        self._heard, self.asked = time.monotonic(), None
        for message in messages:
            if isinstance(message, Exception):
                self._refused(message)
            elif isinstance(message, list):
                self._take(message)

    def _take(self, message: list[Any]) -> None:
        kind, channel = message[0], message[1]
        if kind == b"smessage":
            self.told.add(channel)
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
