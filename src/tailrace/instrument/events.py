"""The events, one frozen class each. They never hold payloads or cursors."""

from dataclasses import dataclass
from typing import TypeAlias

from tailrace.records import StreamEnd


@dataclass(slots=True, frozen=True)
class RecordsAppended:
    """One append was acknowledged.

    Attributes:
        topic: Its name.
        records: How many it brought.
        bytes: Their payload bytes.
        seconds: From the call to the acknowledgement, waiting for its turn included.
    """

    topic: str
    records: int
    bytes: int
    seconds: float


@dataclass(slots=True, frozen=True)
class RecordsNotAppended:
    """One append was refused, or its outcome is unknown.

    Attributes:
        topic: Its name.
        records: How many it brought.
        maybe_stored: Whether they may be stored all the same.
        reason: The error's message.
        seconds: From the call to the outcome.
    """

    topic: str
    records: int
    maybe_stored: bool
    reason: str
    seconds: float


@dataclass(slots=True, frozen=True)
class SubscriptionStarted:
    """A subscription was entered."""

    topic: str


@dataclass(slots=True, frozen=True)
class SubscriptionEnded:
    """An entered subscription ended. ``end`` says why."""

    topic: str
    end: StreamEnd


@dataclass(slots=True, frozen=True)
class OutageBegan:
    """A read of live topics failed; it is tried again until the outage budget is spent. ``reason``: the message."""

    reason: str


@dataclass(slots=True, frozen=True)
class OutageEnded:
    """Reads work again, ``seconds`` after the first one failed."""

    seconds: float


@dataclass(slots=True, frozen=True)
class HintsInterrupted:
    """The store's change hints do not arrive; topics are polled meanwhile. ``reason`` is the error's message."""

    reason: str


@dataclass(slots=True, frozen=True)
class HintsRestored:
    """The store's change hints arrive."""


Event: TypeAlias = (
    RecordsAppended
    | RecordsNotAppended
    | SubscriptionStarted
    | SubscriptionEnded
    | OutageBegan
    | OutageEnded
    | HintsInterrupted
    | HintsRestored
)
