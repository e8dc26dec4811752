"""Hearing of appends: one connection subscribed to exactly the channels of the followed topics.

The script that appends publishes, so a hint is sent by the store itself, after the change, and only to processes that
follow the topic. Where hints stay on the node of their topic, see ``sharded.py``.
"""

import select
import time
from collections.abc import Collection, Iterable
from typing import Any

from typing_extensions import override

from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.keys import Keys
from tailrace.backends.redis.listening import Listening
from tailrace.backends.redis.news import News
from tailrace.backends.redis.nodes import Nodes
from tailrace.backends.redis.resp import pack
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Changes

CHUNK = 500
"""Channels in one command."""

SILENCE = 5.0
"""Seconds of silence after which the server is asked whether it is there, and then has to answer."""


class RedisWatch(Listening):
    """One engine's view of what moved."""

    def __init__(self, nodes: Nodes, keys: Keys, news: News, patience: float) -> None:
        super().__init__(nodes.name)
        self._news = news
        # What an earlier watch has heard may be no longer so.
        news.clear()
        self._nodes = nodes
        self._keys = keys
        self._patience = patience
        self._topics: dict[bytes, str] = {}
        self._moved: set[str] = set()
        self._heard = time.monotonic()
        self._asked: float | None = None
        try:
            self._wire = nodes.dial(patience)
        except BaseException:
            self.close()
            raise
        self._era = nodes.era
        self._attach(self._wire)

    @property
    @override
    def reliable(self) -> bool:
        return self._asked is None

    @override
    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        deadline = time.monotonic() + self._patience
        with self._entered():
            gone = [self._keys.of(topic).channel for topic in dropped]
            new = {self._keys.of(topic).channel: topic for topic in added}
            # Before the server is asked: what arrives until it has confirmed would be kept, and nobody would hear any
            # more that it is no longer so.
            for channel in gone:
                self._topics.pop(channel, None)
            self._news.forget(dropped)
            self._topics.update(new)
            for verb, channels in ((b"UNSUBSCRIBE", gone), (b"SUBSCRIBE", list(new))):
                for start in range(0, len(channels), CHUNK):
                    self._change(verb, channels[start : start + CHUNK], deadline)

    @override
    def wait(self, timeout: float) -> Changes:
        deadline = time.monotonic() + timeout
        with self._entered():
            interrupted = False
            while not (interrupted or self._moved):
                now = time.monotonic()
                self._look_after(now)
                ready = self._ready(max(0.0, min(deadline, self._due) - now))
                if self._wire.fileno() in ready:
                    self._take(self._wire.pending())
                interrupted = self._was_interrupted(ready)
                if now >= deadline:
                    break
            moved, self._moved = self._moved, set()
            return Changes(frozenset(moved))

    @property
    def _due(self) -> float:
        return (self._heard if self._asked is None else self._asked) + SILENCE

    def _look_after(self, now: float) -> None:
        if self._era != self._nodes.era:
            raise DurableStreamUnavailableError(f"{self._name} has been replaced")
        if now < self._due:
            return
        if self._asked is not None:
            raise DurableStreamUnavailableError(f"{self._name} has been silent for {now - self._heard:.0f} s")
        self._asked = now
        self._wire.send(pack((b"PING",)), now + self._patience)

    def _change(self, verb: bytes, channels: list[bytes], deadline: float) -> None:
        self._wire.send(pack((verb, *channels)), deadline)
        missing = len(channels)
        while missing:
            left = deadline - time.monotonic()
            if left <= 0:
                raise DurableStreamUnavailableError(f"{self._name} did not confirm a subscription in time")
            poll = select.poll()
            poll.register(self._wire.fileno(), select.POLLIN)
            if poll.poll(left * 1000):
                missing -= self._take(self._wire.pending())

    def _take(self, messages: Iterable[Any]) -> int:
        """Note what messages say; return how many of them confirm a change of subscriptions."""
        self._heard, self._asked = time.monotonic(), None
        confirmed = 0
        for message in messages:
            if isinstance(message, Exception):
                raise explain(message, self._name) from message
            if not isinstance(message, list):
                continue
            if message[0] == b"message":
                topic = self._topics.get(message[1])
                if topic is not None:
                    self._news.note(topic, message[2])
                    self._moved.add(topic)
            elif message[0] != b"pong":
                confirmed += 1
        return confirmed
