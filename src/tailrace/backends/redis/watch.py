"""Hearing of appends: one connection subscribed to exactly the channels of the followed topics.

The script that appends publishes, so a hint is sent by the store itself, after the change, and only to processes that
follow the topic. Where hints stay on the node of their topic, see ``sharded.py``.
"""

import time
from collections.abc import Collection, Sequence

from typing_extensions import override

from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.keys import Keys
from tailrace.backends.redis.lapses import Lapses
from tailrace.backends.redis.listening import Listening
from tailrace.backends.redis.news import News
from tailrace.backends.redis.nodes import Nodes
from tailrace.backends.redis.pulse import RedisPulse
from tailrace.backends.redis.resp import pack
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Changes

CHUNK = 500
"""Channels in one command."""


class RedisWatch(Listening):
    """One engine's view of what moved."""

    def __init__(self, nodes: Nodes, keys: Keys, news: News, lapses: Lapses, patience: float) -> None:
        super().__init__(nodes.name, keys, news, lapses)
        self._nodes = nodes
        self._patience = patience
        try:
            self._pulse = RedisPulse(nodes.dial(patience), nodes.name, patience)
        except BaseException:
            self.close()
            raise
        self._era = nodes.era
        self._attach(self._pulse.wire)

    @property
    @override
    def reliable(self) -> bool:
        return self._pulse.asked is None

    @override
    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        deadline = time.monotonic() + self._patience
        with self._entered():
            gone, new = self._turn_to(added, dropped)
            self._change(b"UNSUBSCRIBE", gone, deadline)
            self._change(b"SUBSCRIBE", new, deadline)

    @override
    def wait(self, timeout: float) -> Changes:
        # Whoever was woken by the last one has read by now, or is late: what came along then is no look of his moment.
        self._news.clear()
        deadline = time.monotonic() + timeout
        with self._entered():
            interrupted = False
            while not (interrupted or self._moved):
                now = time.monotonic()
                if self._era != self._nodes.era:
                    raise DurableStreamUnavailableError(f"{self._name} has been replaced")
                self._pulse.look_after(now)
                ready, interrupted = self._sleep(min(deadline, self._pulse.due) - now, *self._wires)
                if self._pulse.wire.fileno() in ready:
                    self._hear()
                if now >= deadline:
                    break
            return self._changes()

    def _change(self, verb: bytes, channels: Sequence[bytes], deadline: float) -> None:
        for start in range(0, len(channels), CHUNK):
            some = channels[start : start + CHUNK]
            self._pulse.wire.send(pack((verb, *some)), deadline)
            missing = len(some)
            while missing:
                if self._pulse.await_more(deadline):
                    missing -= self._hear()

    def _hear(self) -> int:
        """Note what has arrived; return how many messages confirm a change of subscriptions."""
        confirmed = 0
        for message in self._pulse.messages():
            if isinstance(message, Exception):
                raise explain(message, self._name) from message
            if not isinstance(message, list):
                continue
            if message[0] == b"message":
                self._told(message[1], message[2])
            elif message[0] != b"pong":
                confirmed += 1
        return confirmed
