"""What both watches have in common: which topics are followed, what was heard of them, and the connections.

Nothing here depends on the driver's timeouts.
"""

import contextlib
import time
from collections.abc import Collection, Iterator

import hiredis
from typing_extensions import override

from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.keys import Keys
from tailrace.backends.redis.lapses import Lapses
from tailrace.backends.redis.news import News
from tailrace.backends.redis.wire import Wire
from tailrace.backends.vigil import Vigil
from tailrace.errors import DurableStreamUnavailableError
from tailrace.spi import Changes


class Listening(Vigil):
    """One watch: what it follows and has heard, and its connections.

    Args:
        name: Of the servers, for messages.
        lapses: Where it is noted that this watch broke.
    """

    def __init__(self, name: str, keys: Keys, news: News, lapses: Lapses) -> None:
        super().__init__()
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

    def _detach(self, wire: Wire) -> None:
        del self._wires[wire.fileno()]
        wire.close()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        with self._inside():
            try:
                yield
            except (OSError, hiredis.ProtocolError) as exc:
                self._lapses.note(self._opened, time.monotonic())
                raise explain(exc, self._name) from exc
            except DurableStreamUnavailableError:
                self._lapses.note(self._opened, time.monotonic())
                raise

    @override
    def _release(self) -> None:
        for wire in self._wires.values():
            wire.close()
        self._wires.clear()

    @override
    def _abandon(self) -> None:
        for wire in self._wires.values():
            wire.disown()
        self._wires.clear()
