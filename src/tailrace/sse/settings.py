"""What streams can be told, in one frozen dataclass. No I/O."""

from dataclasses import dataclass

from tailrace.errors import InvalidArgumentError
from tailrace.options import positive_count, positive_seconds

PROXIES_GIVE_UP = 15.0
"""Seconds of silence after which common proxies cut a stream: heartbeats come more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """Bounds and times of streams.

    Attributes:
        heartbeat: Seconds of silence after which a stream sends a comment.
        retry: Seconds that a browser waits before it reconnects.
        gather: Seconds in which events share one write; one that comes after silence is sent at once.
        recycle: Seconds after which a stream is ended for its client to reconnect, give or take a fifth.
        max_streams: Streams at once.
        max_streams_each: Streams of one principal at once.
    """

    heartbeat: float = 14.0
    retry: float = 2.0
    gather: float = 0.010
    recycle: float = 3600.0
    max_streams: int = 20_000
    max_streams_each: int = 20_000

    def __post_init__(self) -> None:
        for name in ("heartbeat", "retry", "recycle"):
            positive_seconds(name, getattr(self, name))
        if self.heartbeat >= PROXIES_GIVE_UP:
            raise InvalidArgumentError(f"heartbeat must be below {PROXIES_GIVE_UP:.0f} seconds: proxies cut silence")
        if not 0 <= self.gather <= 1:
            raise InvalidArgumentError("gather must be from 0 to 1 second")
        for name in ("max_streams", "max_streams_each"):
            positive_count(name, getattr(self, name))
