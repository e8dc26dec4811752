"""All connections of one line: one, or in a sharded place one to each node of which something is listened to.

A connection that breaks takes its own channels along, and nobody else's. It is opened again by the next who subscribes.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import hiredis

from tailrace.backends.redis.broadcast.ear import Ear, Told, Wish
from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.slots import Address
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError

HOPS = 8
"""How often one subscription follows a slot that has moved."""


class Homes(Protocol):
    """Where channels are listened to."""

    name: str
    sharded: bool

    def home_of(self, channel: bytes) -> Address | None:
        """Return the node; ``None`` while there is none."""
        ...

    def dial(self, home: Address, timeout: float) -> Wire:
        """Open a connection to it."""
        ...

    def moved(self, error: Exception, home: Address) -> None:
        """Note what a node said of a channel that is elsewhere."""
        ...

    def doubt(self) -> None:
        """Note that something may have changed."""
        ...


class Ears:
    """Not thread-safe.

    Args:
        told: Who is told what happens on channels.
        patience: Seconds that connecting and sending may take.
    """

    def __init__(self, homes: Homes, told: Told, patience: float) -> None:
        self._homes = homes
        self._told = told
        self._patience = patience
        self._ears: dict[Address, Ear] = {}

    @property
    def descriptors(self) -> list[int]:
        """What is waited for."""
        return [ear.wire.fileno() for ear in self._ears.values()]

    @property
    def due(self) -> float:
        """When they have to be looked after again."""
        return min((ear.due for ear in self._ears.values()), default=float("inf"))

    def change(self, wishes: Sequence[Wish]) -> None:
        """Ask for changes, in this order for each channel."""
        parcels: dict[Address, list[Wish]] = {}
        found: dict[bytes, Address] = {}
        for wish in wishes:
            home = self._homes.home_of(wish.channel) if wish.subscribe else self._where(wish.channel, found)
            if home is not None:
                found[wish.channel] = home
                parcels.setdefault(home, []).append(wish)
            elif wish.subscribe:
                self._homes.doubt()
                error = DurableStreamUnavailableError(f"{self._homes.name} has no node for it at the moment")
                self._told.lost(wish.channel, error)
        for home, parcel in parcels.items():
            try:
                self._ear(home).change(parcel)
            except (OSError, DurableStreamUnavailableError) as exc:
                self._give_up(home, exc, parcel)

    def hear(self, ready: Collection[int]) -> None:
        """Tell what has arrived, and ask nodes that are silent whether they are there."""
        now = time.monotonic()
        again: list[Wish] = []
        for home, ear in tuple(self._ears.items()):
            try:
                if ear.wire.fileno() in ready:
                    ear.hear()
                ear.look_after(now)
            except (OSError, hiredis.ProtocolError, DurableStreamUnavailableError) as exc:
                self._give_up(home, exc)
                continue
            moved, ear.moved = ear.moved, []
            for wish, error in moved:
                self._homes.moved(error, home)
                again.append(wish._replace(hops=wish.hops + 1))
        if again:
            self._follow(again)

    def close(self) -> None:
        """Close all connections. Never raises."""
        for ear in self._ears.values():
            ear.wire.close()
        self._ears.clear()

    def disown(self) -> None:
        """In a child process: let go of the parent's connections, without a word on them."""
        for ear in self._ears.values():
            ear.wire.disown()
        self._ears.clear()

    def _where(self, channel: bytes, found: Mapping[bytes, Address]) -> Address | None:
        """Return where a channel is listened to, which need not be where it would be now."""
        if channel in found:
            return found[channel]
        return next((home for home, ear in self._ears.items() if ear.hears(channel)), None)

    def _follow(self, wishes: Sequence[Wish]) -> None:
        for wish in wishes:
            if wish.subscribe and wish.hops > HOPS:
                self._told.lost(wish.channel, DurableStreamUnavailableError(f"{self._homes.name} is moving it"))
        self.change([wish for wish in wishes if wish.hops <= HOPS])

    def _ear(self, home: Address) -> Ear:
        ear = self._ears.get(home)
        if ear is None:
            wire = self._homes.dial(home, self._patience)
            ear = Ear(wire, self._homes.name, self._patience, self._told, sharded=self._homes.sharded)
            self._ears[home] = ear
        return ear

    def _give_up(self, home: Address, exc: Exception, asked: Sequence[Wish] = ()) -> None:
        ear = self._ears.pop(home, None)
        channels = {wish.channel for wish in asked if wish.subscribe}
        if ear is not None:
            channels |= ear.all()
            ear.wire.close()
        self._homes.doubt()
        error = exc if isinstance(exc, DurableStreamUnavailableError) else explain(exc, self._homes.name)
        for channel in channels:
            self._told.lost(channel, error)
