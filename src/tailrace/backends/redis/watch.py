"""Hearing of appends: one connection subscribed to exactly the channels of the followed topics.

The script that appends publishes, so a hint is sent by the store itself, after the change, and only to processes that
follow the topic. Waiting is on the socket and on a pipe that an interrupt writes to; nothing depends on the driver's
timeouts.
"""

import contextlib
import os
import select
import time
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import hiredis
from typing_extensions import override

from tailrace import native
from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.keys import Keys
from tailrace.backends.redis.nodes import Nodes
from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Changes, Watch

CHUNK = 500
"""Channels in one command."""

SILENCE = 5.0
"""Seconds of silence after which the server is asked whether it is there, and then has to answer."""


class RedisWatch(Watch):
    """One engine's view of what moved."""

    def __init__(self, nodes: Nodes, keys: Keys, patience: float) -> None:
        self._name = nodes.name
        self._keys = keys
        self._patience = patience
        self._topics: dict[bytes, str] = {}
        self._moved: set[str] = set()
        self._state = native.lock()
        self._waiting = self._closed = False
        self._wire: Wire = nodes.dial(patience)
        self._heard = time.monotonic()
        self._asked: float | None = None
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)
        self._poll.register(self._wire.fileno(), select.POLLIN)

    @property
    @override
    def reliable(self) -> bool:
        return self._asked is None

    @override
    def follow(self, added: Collection[str], dropped: Collection[str]) -> None:
        deadline = time.monotonic() + self._patience
        with self._entered():
            for verb, topics in ((b"UNSUBSCRIBE", dropped), (b"SUBSCRIBE", added)):
                channels = [self._keys.of(topic).channel for topic in topics]
                if verb == b"SUBSCRIBE":
                    self._topics.update(zip(channels, topics, strict=True))
                for start in range(0, len(channels), CHUNK):
                    self._change(verb, channels[start : start + CHUNK], deadline)
                if verb == b"UNSUBSCRIBE":
                    for channel in channels:
                        self._topics.pop(channel, None)

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
                if self._woken in ready:
                    os.read(self._woken, 4096)
                    interrupted = True
                if now >= deadline:
                    break
            moved, self._moved = self._moved, set()
            return Changes(frozenset(moved))

    @override
    def interrupt(self) -> None:
        with self._state, contextlib.suppress(BlockingIOError):
            if not self._closed:
                os.write(self._wake, b"!")

    @override
    def close(self) -> None:
        self.interrupt()
        with self._state:
            if self._closed:
                return
            self._closed = True
            # Under a waiting thread the descriptors must stay: their numbers could be given to somebody else.
            if not self._waiting:
                self._release()

    def disown(self) -> None:
        """In a child: close the descriptors and nothing else; what arrives there is the parent's."""
        self._state = native.lock()
        if self._wake >= 0:
            self._closed = True
            self._wire.disown()
            self._close_pipe()

    def _release(self) -> None:
        self._wire.close()
        self._close_pipe()

    def _close_pipe(self) -> None:
        fds, self._woken, self._wake = (self._woken, self._wake), -1, -1
        for fd in fds:
            if fd >= 0:
                os.close(fd)

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        with self._state:
            if self._closed:
                raise DurableStreamUnavailableError("the watch is closed")
            self._waiting = True
        try:
            yield
        except (OSError, hiredis.ProtocolError) as exc:
            raise explain(exc, self._name) from exc
        finally:
            with self._state:
                self._waiting = False
                if self._closed:
                    self._release()

    def _ready(self, seconds: float) -> set[int]:
        # Rounded up: a pause that is cut to nothing would be waited for by going round.
        return {fd for fd, _ in self._poll.poll(-int(-seconds * 1000 // 1))}

    @property
    def _due(self) -> float:
        return (self._heard if self._asked is None else self._asked) + SILENCE

    def _look_after(self, now: float) -> None:
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
                    self._moved.add(topic)
            elif message[0] != b"pong":
                confirmed += 1
        return confirmed
