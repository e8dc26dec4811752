"""What all watches have in common: which topics are followed, waiting on sockets and on a pipe for interrupts.

Nothing here depends on the driver's timeouts. Used by one thread, except for ``interrupt`` and ``close``.
"""

import contextlib
import os
import select
import time
from collections.abc import Collection, Iterator

import hiredis
from typing_extensions import override

from tailrace import native
from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.keys import Keys
from tailrace.backends.redis.lapses import Lapses
from tailrace.backends.redis.news import News
from tailrace.backends.redis.wire import Wire
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Changes, Watch


class Listening(Watch):
    """One watch: what it follows and has heard, and its descriptors.

    Args:
        name: Of the servers, for messages.
        lapses: Where it is noted that this watch broke.
    """

    def __init__(self, name: str, keys: Keys, news: News, lapses: Lapses) -> None:
        self._lapses = lapses
        self._opened = time.monotonic()
        self._name = name
        self._keys = keys
        self._news = news
        # What an earlier watch has heard may be no longer so.
        news.clear()
        self._topics: dict[bytes, str] = {}
        self._moved: set[str] = set()
        self._wires: dict[int, Wire] = {}
        self._state = native.lock()
        self._waiting = self._closed = False
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)

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
            for wire in self._wires.values():
                wire.disown()
            self._wires.clear()
            self._close_pipe()

    def _turn_to(self, added: Collection[str], dropped: Collection[str]) -> tuple[list[bytes], list[bytes]]:
        """Note what is followed from now on, before the server is asked; return the channels that are gone and new."""
        gone = [self._keys.of(topic).channel for topic in dropped]
        for channel in gone:
            self._topics.pop(channel, None)
        # Only now: a hint that is read while the server confirms is of a topic that nobody knows any more. What it
        # carries would be kept, and there would be nobody to hear that it is no longer so.
        self._news.forget(dropped)
        new = {self._keys.of(topic).channel: topic for topic in added}
        self._topics.update(new)
        return gone, [*new]

    def _told(self, channel: bytes, message: bytes) -> None:
        """Note a hint."""
        topic = self._topics.get(channel)
        if topic is not None:
            self._news.note(topic, message)
            self._moved.add(topic)

    def _changes(self) -> Changes:
        """Return what has been heard since the last time."""
        moved, self._moved = self._moved, set()
        return Changes(frozenset(moved))

    def _attach(self, wire: Wire) -> None:
        self._wires[wire.fileno()] = wire
        self._poll.register(wire.fileno(), select.POLLIN)

    def _detach(self, wire: Wire) -> None:
        self._poll.unregister(wire.fileno())
        del self._wires[wire.fileno()]
        wire.close()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        with self._state:
            if self._closed:
                raise DurableStreamUnavailableError("the watch is closed")
            self._waiting = True
        try:
            yield
        except (OSError, hiredis.ProtocolError) as exc:
            self._lapses.note(self._opened, time.monotonic())
            raise explain(exc, self._name) from exc
        except DurableStreamUnavailableError:
            self._lapses.note(self._opened, time.monotonic())
            raise
        finally:
            with self._state:
                self._waiting = False
                if self._closed:
                    self._release()

    def _ready(self, seconds: float) -> set[int]:
        # Rounded up: a pause that is cut to nothing would be waited for by going round.
        return {fd for fd, _ in self._poll.poll(-int(-seconds * 1000 // 1))}

    def _was_interrupted(self, ready: set[int]) -> bool:
        if self._woken not in ready:
            return False
        os.read(self._woken, 4096)
        return True

    def _release(self) -> None:
        for wire in self._wires.values():
            wire.close()
        self._wires.clear()
        self._close_pipe()

    def _close_pipe(self) -> None:
        fds, self._woken, self._wake = (self._woken, self._wake), -1, -1
        for fd in fds:
            if fd >= 0:
                os.close(fd)
