"""The streams of a server: how many there may be, how long each, and ending them all."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from tailrace.server.principals import Principal
from tailrace.server.settings import ServerSettings
from tailrace.sse import Stop


class Stoppable(Protocol):
    """Something that goes on until it is told to stop."""

    def stop(self, why: Stop) -> None:
        """End soon. Does not block."""


class Live:
    """Everything that is streamed just now. Of one event loop."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._streams: set[Stoppable] = set()
        self._each: Counter[str] = Counter()
        self._draining = False

    @property
    def count(self) -> int:
        """How many streams there are."""
        return len(self._streams)

    @property
    def draining(self) -> bool:
        """Whether the server is about to end."""
        return self._draining

    def admits(self, principal: Principal) -> bool:
        """Return whether one more stream may begin."""
        return (
            not self._draining
            and len(self._streams) < self._settings.max_streams
            and self._each[principal.name] < self._settings.max_streams_each
        )

    @contextmanager
    def entered(self, stream: Stoppable, principal: Principal) -> Iterator[None]:
        """Count a stream, and have it stopped when its time is over."""
        self._streams.add(stream)
        self._each[principal.name] += 1
        timer = asyncio.get_running_loop().call_later(self._lifetime(principal), stream.stop, Stop.LATER)
        try:
            yield
        finally:
            timer.cancel()
            self._streams.discard(stream)
            self._each[principal.name] -= 1
            if not self._each[principal.name]:
                del self._each[principal.name]

    def drain(self) -> None:
        """End every stream for its client to come back, to whoever serves then; admit no more. Idempotent."""
        self._draining = True
        for stream in list(self._streams):
            stream.stop(Stop.LATER)

    def _lifetime(self, principal: Principal) -> float:
        settings = self._settings
        # Spread, or all that began together (after a restart) would come back together, for ever.
        seconds = settings.recycle * random.uniform(0.8, 1.2)
        if settings.token_lifetime is not None:
            # An id that a silent stream was primed with must still be good when it comes back.
            seconds = min(seconds, settings.token_lifetime / 2)
        if principal.expires_at is not None:
            seconds = min(seconds, max(principal.expires_at - time.time(), 0.0))
        return seconds
