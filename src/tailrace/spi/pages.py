"""The frozen values that cross between engine and store. No SQL, socket, callback or cursor among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tailrace.boundaries import Boundary, Place
from tailrace.errors import DurableStreamUnavailableError


class Entry(NamedTuple):
    """What one caller appends: its payloads are stored contiguously and in order.

    Attributes:
        topic: A valid topic name; created if it does not exist.
        payloads: At least one; each within the store's limit.
        may_wait: Whether the store may wait, within the timeout, for somebody who holds the topic locked. If not, it
            answers ``AppendDeferred`` at once and lets the other entries go on.
    """

    topic: str
    payloads: Sequence[bytes]
    may_wait: bool = True


class Appended(NamedTuple):
    """Accepted and readable. ``end`` is the place of the entry's last record."""

    end: Boundary


@dataclass(slots=True, frozen=True)
class AppendRefused:
    """Certainly not stored, no part of it: a retry can not duplicate.

    ``error`` is a ``TopicSealedError``, a ``StoreUnusableError`` or a plain unavailable error.
    """

    error: DurableStreamUnavailableError

    def __post_init__(self) -> None:
        # The outcome decides what the caller is told, whatever the adapter made of its error.
        self.error.maybe_stored = False


@dataclass(slots=True, frozen=True)
class AppendUnknown:
    """May have been stored. It is never sent again by anybody but the caller."""

    error: DurableStreamUnavailableError

    def __post_init__(self) -> None:
        self.error.maybe_stored = True


@dataclass(slots=True, frozen=True)
class AppendDeferred:
    """Certainly not stored: somebody else holds the topic locked, still or just now.

    For all entries of its topic in that call, or they would lose their order. They are sent again while other topics go
    on, until their time is over.
    """


AppendOutcome: TypeAlias = Appended | AppendRefused | AppendUnknown | AppendDeferred


@dataclass(slots=True, frozen=True)
class Seal:
    """The end of a topic. ``error`` is its reason when it was sealed as failed."""

    error: str | None = None


class Bounds(NamedTuple):
    """Where an existing topic stands.

    Attributes:
        beginning: Just before the earliest retained record: the trim horizon.
        tail: The last record ever appended (equal to ``beginning`` when nothing is retained).
        seal: Set once the topic is sealed.
    """

    beginning: Boundary
    tail: Boundary
    seal: Seal | None = None


class ReadRequest(NamedTuple):
    """Read one topic after a place.

    Attributes:
        after: Exclusive.
        max_records: At most that many; 0 only checks that ``after`` still holds.
        max_bytes: Stop once the payloads reach this; the first record comes whole whatever its size.
    """

    topic: str
    after: Place
    max_records: int
    max_bytes: int


class StoredRecord(NamedTuple):
    """One record as a store returns it.

    A page may as well hold plain tuples in this order: a driver's rows often are that already, and nobody above
    the stores uses the names.
    """

    position: int
    tag: int
    payload: bytes


class Page(NamedTuple):
    """Records that follow a place without a gap.

    Attributes:
        records: In order, possibly none.
        end: The place after the last of them; the requested place itself when there are none (an
            unborn place becomes a boundary as soon as the topic exists).
        more: Whether more were retained after ``end`` in the same atomic look.
        seal: The topic's seal in the same atomic look.
    """

    records: Sequence[StoredRecord]
    end: Place
    more: bool = False
    seal: Seal | None = None


@dataclass(slots=True, frozen=True)
class PositionLost:
    """The place can not be resolved: something after it is gone, or it belongs to another history."""

    reason: str


@dataclass(slots=True, frozen=True)
class ReadFailed:
    """This request could not be answered now; its neighbours could (a cluster with one node away)."""

    error: DurableStreamUnavailableError


ReadOutcome: TypeAlias = Page | PositionLost | ReadFailed


class Changes(NamedTuple):
    """Hints: topics that may have moved. ``anything`` says that any topic may have."""

    topics: frozenset[str] = frozenset()
    anything: bool = False


@dataclass(slots=True, frozen=True)
class TopicInfo:
    """One topic, for people who operate the store.

    Attributes:
        records: How many are retained.
        bytes: Their payload bytes.
        last_append_at: Seconds since the epoch by the store's clock; ``None`` if nothing was ever appended.
    """

    name: str
    records: int
    bytes: int
    last_append_at: float | None
    seal: Seal | None


@dataclass(slots=True, frozen=True)
class SweepBudget:
    """How much one sweep may do.

    Attributes:
        max_records: Records removed in all.
        max_seconds: Wall time after which no new chunk is started.
        chunk_records: Records removed in one transaction: writers wait for at most that much.
    """

    max_records: int = 100_000
    max_seconds: float = 5.0
    chunk_records: int = 500


@dataclass(slots=True, frozen=True)
class SweepReport:
    """What one sweep did.

    Attributes:
        topics: How many were looked at.
        records: How many were removed, with ``bytes`` of payload.
        forgotten: Topics that lost their identity for having been empty and idle for ``forget_after``.
        done: False when work is left: the budget ended it, somebody else held a topic, or one failed.
    """

    topics: int
    records: int
    bytes: int
    forgotten: int
    done: bool
