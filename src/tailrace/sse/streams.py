"""All streams of an event loop: what they share, how many there may be, how long each, and ending them."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from tailrace.sse.pulse import Pulse
from tailrace.sse.settings import StreamSettings
from tailrace.sse.stream import Stop
from tailrace.sse.trunks import Trunks
from tailrace.tokens import Tokens


class Stoppable(Protocol):
    """Something that goes on until it is told to stop."""

    def stop(self, why: Stop) -> None:
        """End soon. Does not block."""


class Streams:
    """Everything that is streamed just now. Of one event loop.

    Args:
        settings: Bounds and times.

    Attributes:
        trunks: What streams of one topic share.
        pulse: Tells streams when it is time for a heartbeat.
    """

    def __init__(self, settings: StreamSettings) -> None:
        self.settings = settings
        self.trunks = Trunks(settings.gather)
        self.pulse = Pulse(settings.heartbeat)
        self._streams: set[Stoppable] = set()
        self._each: Counter[str] = Counter()
        self._draining = False

    @property
    def count(self) -> int:
        """How many streams there are."""
        return len(self._streams)

    @property
    def draining(self) -> bool:
        """Whether no stream is begun any more."""
        return self._draining

    def admits(self, whose: str) -> bool:
        """Return whether one more stream of somebody may begin."""
        return (
            not self._draining
            and len(self._streams) < self.settings.max_streams
            and self._each[whose] < self.settings.max_streams_each
        )

    @contextmanager
    def entered(
        self, stream: Stoppable, whose: str, *, expires_at: float | None = None, tokens: Tokens | None = None
    ) -> Iterator[None]:
        """Count a stream, and have it stopped when its time is over.

        Args:
            stream: Of the block.
            whose: Name that bounds are counted by.
            expires_at: Seconds since the epoch at which their right to it ends.
            tokens: Of the ids that it hands out.
        """
        self._streams.add(stream)
        self._each[whose] += 1
        timer = asyncio.get_running_loop().call_later(
            lifetime(self.settings, tokens, expires_at), stream.stop, Stop.LATER
        )
        try:
            yield
        finally:
            timer.cancel()
            self._streams.discard(stream)
            self._each[whose] -= 1
            if not self._each[whose]:
                del self._each[whose]

    def drain(self) -> None:
        """End every stream for its client to come back, to whoever serves then; admit no more. Idempotent."""
        self._draining = True
        for stream in list(self._streams):
            stream.stop(Stop.LATER)


def lifetime(settings: StreamSettings, tokens: Tokens | None, expires_at: float | None) -> float:
    """Return for how many seconds a stream goes on that begins now.

    Args:
        settings: Of all streams.
        tokens: Of the ids that it hands out.
        expires_at: Seconds since the epoch at which their right to it ends.
    """
    # Spread, or all that began together (after a restart) would come back together, for ever.
    seconds = settings.recycle * random.uniform(0.8, 1.2)
    if tokens is not None and tokens.lifetime is not None:
        # An id that a silent stream was primed with must still be good when it comes back.
        seconds = min(seconds, tokens.lifetime / 2)
    if expires_at is not None:
        seconds = min(seconds, max(expires_at - time.time(), 0.0))
    return seconds
