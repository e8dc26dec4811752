"""Hearing of appends in a cluster: one connection for each node that has followed topics, and no other node hears.

A node that goes away, or a slot that moves, concerns its own topics: they are followed again where they are then, and
read once more, because something may have been told in between. Meanwhile the watch says that it is not reliable.
"""

import time
from collections.abc import Collection, Iterable

import hiredis
from typing_extensions import override

from tailrace.backends.redis.cluster import Cluster
from tailrace.backends.redis.ear import Ear
from tailrace.backends.redis.keys import Keys
from tailrace.backends.redis.lapses import Lapses
from tailrace.backends.redis.listening import Listening
from tailrace.backends.redis.news import News
from tailrace.backends.redis.slots import Address
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.spi import Changes

AGAIN = 0.25
"""Seconds between two tries to follow what could not be followed."""

CONFIRMED_WITHIN = 2.0
"""Seconds that one node has to confirm: the topics of the others wait meanwhile."""


class ShardedWatch(Listening):
    """One engine's view of what moved, on all nodes."""

    def __init__(self, nodes: Cluster, keys: Keys, news: News, lapses: Lapses, patience: float) -> None:
        super().__init__(nodes.name, keys, news, lapses)
        self._nodes = nodes
        self._patience = min(patience, CONFIRMED_WITHIN)
        self._ears: dict[Address, Ear] = {}
        self._lapses_at: dict[Address, Lapses] = {}
        # Followed, but not on any node at the moment.
        self._homeless: set[bytes] = set()
        self._next_try = 0.0

    @property
    @override
    def reliable(self) -> bool:
        return not self._homeless and all(ear.asked is None for ear in self._ears.values())

    @override
    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        deadline = time.monotonic() + self._patience
        with self._entered():
            gone, new = self._turn_to(added, dropped)
            self._homeless.difference_update(gone)
            self._leave(gone, deadline)
            self._settle(new, deadline)

    @override
    def wait(self, timeout: float) -> Changes:
        # Whoever was woken by the last one has read by now, or is late: what came along then is no look of his moment.
        self._news.clear()
        deadline = time.monotonic() + timeout
        with self._entered():
            interrupted = False
            while not (interrupted or self._moved):
                now = time.monotonic()
                if self._homeless and now >= self._next_try:
                    self._resettle(now)
                    continue
                until = min([deadline, *(ear.due for ear in self._ears.values())])
                if self._homeless:
                    until = min(until, self._next_try)
                ready, interrupted = self._sleep(until - now, *self._wires)
                self._hear(ready)
                if now >= deadline:
                    break
            return self._changes()

    def _hear(self, ready: set[int]) -> None:
        now = time.monotonic()
        for address, ear in tuple(self._ears.items()):
            try:
                if ear.wire.fileno() in ready:
                    ear.hear()
                ear.look_after(now)
            except (OSError, hiredis.ProtocolError, DurableStreamUnavailableError) as exc:
                self._give_up(address, exc)
            else:
                self._note(ear)

    def _note(self, ear: Ear) -> None:
        lost, ear.lost = ear.lost, set()
        if lost:
            self._nodes.doubt()
            self._homeless.update(channel for channel in lost if channel in self._topics)
            self._news.forget([self._topics[channel] for channel in lost if channel in self._topics])

    def _resettle(self, now: float) -> None:
        # Soon again at first: a slot that has just moved is known elsewhere within a moment.
        self._next_try = now + AGAIN
        self._nodes.refresh(self._patience)
        homeless, self._homeless = self._homeless, set()
        self._settle(homeless, now + self._patience)
        self._moved.update(self._topics[channel] for channel in homeless - self._homeless)

    def _settle(self, channels: Iterable[bytes], deadline: float) -> None:
        """Follow channels, each where it is; those that can not be followed now are homeless."""
        now = time.monotonic()
        homes: dict[Address, list[bytes]] = {}
        for channel in channels:
            home = self._nodes.home_of(channel)
            if home is None:
                self._nodes.doubt()
                self._homeless.add(channel)
            elif home in self._lapses_at and now < self._lapses_at[home].over_at:
                self._homeless.add(channel)
            else:
                homes.setdefault(home, []).append(channel)
        for address, there in homes.items():
            try:
                self._ear(address, deadline).change(b"SSUBSCRIBE", there)
            except (OSError, DurableStreamUnavailableError) as exc:
                self._homeless.update(there)
                self._give_up(address, exc)
        self._confirm(homes, deadline)

    def _leave(self, channels: Iterable[bytes], deadline: float) -> None:
        for channel in channels:
            for address, ear in tuple(self._ears.items()):
                if channel in ear.channels:
                    try:
                        ear.change(b"SUNSUBSCRIBE", [channel])
                    except OSError as exc:
                        self._give_up(address, exc)
        self._confirm(tuple(self._ears), deadline)

    def _confirm(self, addresses: Iterable[Address], deadline: float) -> None:
        # All were asked before any is waited for.
        for address in addresses:
            ear = self._ears.get(address)
            if ear is None:
                continue
            try:
                ear.confirm(deadline)
            except (OSError, hiredis.ProtocolError, DurableStreamUnavailableError) as exc:
                self._give_up(address, exc)
            else:
                self._note(ear)

    def _ear(self, address: Address, deadline: float) -> Ear:
        ear = self._ears.get(address)
        if ear is None:
            wire = self._nodes.dial_home(address, max(0.001, deadline - time.monotonic()))
            ear = self._ears[address] = Ear(wire, self._name, self._patience, self._told)
            self._attach(wire)
        return ear

    def _give_up(self, address: Address, exc: Exception) -> None:
        ear = self._ears.pop(address, None)
        if ear is not None:
            self._detach(ear.wire)
            self._lapses_at.setdefault(address, Lapses()).note(ear.opened, time.monotonic())
            self._homeless.update(channel for channel in ear.channels if channel in self._topics)
            self._news.clear()
        self._nodes.doubt()
        if isinstance(exc, StoreUnusableError):
            raise exc
