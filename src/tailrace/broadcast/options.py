"""What a channel can be told, checked when it is made."""

import enum
from dataclasses import dataclass, fields
from typing import TypedDict

from tailrace import limits
from tailrace.arguments import known_options
from tailrace.errors import InvalidTypeError
from tailrace.options import positive_count, positive_seconds


class Overflow(enum.Enum):
    """What becomes of messages for a subscription whose buffer is full. All but ``ERROR`` go on; all are counted."""

    DROP_OLDEST = "drop-oldest"
    """The oldest that wait make room: what is received is the newest."""

    DROP_NEWEST = "drop-newest"
    """The new one is dropped: what is received is without a gap up to there."""

    ERROR = "error"
    """What waits is still returned, then ``BroadcastOverflowError``."""


class ConnectOptions(TypedDict, total=False):
    """Keyword arguments of ``connect``.

    Attributes:
        overflow: What becomes of messages for a subscription that is too slow (``Overflow.DROP_OLDEST``).
        buffer_messages: Messages that wait for one subscription, at most (1024).
        buffer_bytes: Bytes that wait for one subscription, at most (4 MiB); a single larger message still fits.
        publish_timeout: Seconds that one ``publish`` may take (10).
        confirm_timeout: Seconds that entering may take (10).
        max_payload: Bytes in one message (16 MiB).
    """

    overflow: Overflow
    buffer_messages: int
    buffer_bytes: int
    publish_timeout: float
    confirm_timeout: float
    max_payload: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastOptions:
    """As ``ConnectOptions``, complete."""

    overflow: Overflow = Overflow.DROP_OLDEST
    buffer_messages: int = 1024
    buffer_bytes: int = 4 * 2**20
    publish_timeout: float = 10.0
    confirm_timeout: float = 10.0
    max_payload: int = limits.MAX_PAYLOAD_BYTES

    def __post_init__(self) -> None:
        if not isinstance(self.overflow, Overflow):
            raise InvalidTypeError(f"overflow must be one of Overflow, not {type(self.overflow).__name__}")
        positive_count("buffer_messages", self.buffer_messages)
        positive_count("buffer_bytes", self.buffer_bytes)
        positive_seconds("publish_timeout", self.publish_timeout)
        positive_seconds("confirm_timeout", self.confirm_timeout)
        positive_count("max_payload", self.max_payload, at_most=limits.MAX_PAYLOAD_BYTES)


def read_options(given: ConnectOptions) -> BroadcastOptions:
    """Return the options that were given, completed.

    Raises:
        InvalidArgumentError: There is no such option, or it can not have that value.
    """
    known_options("connect", given, (field.name for field in fields(BroadcastOptions)))
    return BroadcastOptions(**given)
