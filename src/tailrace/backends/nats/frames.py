"""One message: the records of one commit, and where its topic stood before them. Pure.

Each message names the one before it, and carries all that is known about its topic; so the newest one of a subject says
everything, and a look at one message is a look at a topic. Numbers are big-endian; see ``docs/design/nats.md``.
"""

from collections.abc import Sequence
from enum import IntEnum
from struct import Struct, pack, unpack_from
from typing import NamedTuple

from tailrace.errors import StoreUnusableError
from tailrace.spi import Boundary, Bounds, Seal

INDEX_BITS = 12
MOST_RECORDS = 1 << INDEX_BITS
"""Records in one message: a position has that much room for their index."""

OVERHEAD = 2048
"""Bytes that a message may need beside its records: the header, the name, a reason, and NATS's own headers."""

PER_RECORD = 4

_MAGIC = b"TR\x01"
_HEADER = Struct(">3sBQQQIQIQIQQQQQHHI")


class Kind(IntEnum):
    """What a message is. A control message carries no records: a seal, a new horizon, a fence."""

    RECORDS = 1
    CONTROL = 2
    END = 3


class State(NamedTuple):
    """What is known about one life of a topic.

    Attributes:
        grave: The life before this one, 0 for none.
        last: Position and tag of the last record.
        horizon: Those of the record just before the earliest that is retained.
        records: Ever appended, with ``size`` bytes of payload.
        gone: How many of them are before the horizon, with ``gone_size`` bytes.
        touched: When the last record was appended, or the topic created, in microseconds of the server's clock.
    """

    incarnation: int
    grave: int = 0
    last: tuple[int, int] = (0, 0)
    horizon: tuple[int, int] = (0, 0)
    records: int = 0
    size: int = 0
    gone: int = 0
    gone_size: int = 0
    touched: int = 0
    seal: Seal | None = None

    @property
    def tail(self) -> Boundary:
        """The place of the last record."""
        return Boundary(self.incarnation, *self.last)

    @property
    def beginning(self) -> Boundary:
        """The place just before the earliest retained record."""
        return Boundary(self.incarnation, *self.horizon)

    @property
    def bounds(self) -> Bounds:
        """Where the topic stands."""
        return Bounds(self.beginning, self.tail, self.seal)


class Frame(NamedTuple):
    """A message.

    Attributes:
        previous: Sequence of the message before it on its subject, 0 if there was none.
        tag: Of this commit.
        state: Of the topic, before the records of this message.
        lengths: Of its records.
        data: The message's bytes, where they are from ``start`` on.
    """

    kind: Kind
    previous: int
    tag: int
    name: str
    state: State
    lengths: tuple[int, ...] = ()
    data: bytes = b""
    start: int = 0

    def payloads(self) -> list[bytes]:
        """Return the records."""
        data, at = self.data, self.start
        payloads = []
        for length in self.lengths:
            payloads.append(data[at : at + length])
            at += length
        return payloads

    def after(self, sequence: int, time: int) -> State:
        """Return the state after the records of this message, which is stored under that number, at that time."""
        count = len(self.lengths)
        if not count:
            return self.state
        state = self.state
        return state._replace(
            last=(position(sequence, count - 1), self.tag),
            records=state.records + count,
            size=state.size + len(self.data) - self.start,
            touched=time,
        )


def position(sequence: int, index: int) -> int:
    """Return the place of a record by its message and its index therein."""
    return sequence << INDEX_BITS | index


def sequence_of(place: int) -> int:
    """Return the message of a position."""
    return place >> INDEX_BITS


def index_of(place: int) -> int:
    """Return the index of a position in its message."""
    return place & (MOST_RECORDS - 1)


def compose(kind: Kind, previous: int, tag: int, name: str, state: State, payloads: Sequence[bytes] = ()) -> Frame:
    """Return a message, and its bytes in it."""
    named = name.encode()
    reason = b"" if state.seal is None or state.seal.error is None else state.seal.error.encode()
    sealed = 0 if state.seal is None else 1 if state.seal.error is None else 2 + len(reason)
    header = _HEADER.pack(
        _MAGIC,
        kind,
        previous,
        state.incarnation,
        state.grave,
        tag,
        *state.last,
        *state.horizon,
        state.records,
        state.size,
        state.gone,
        state.gone_size,
        state.touched,
        len(named),
        sealed,
        len(payloads),
    )
    lengths = tuple(map(len, payloads))
    start = len(header) + len(named) + len(reason) + PER_RECORD * len(lengths)
    data = b"".join((header, named, reason, pack(f">{len(lengths)}I", *lengths), *payloads))
    return Frame(kind, previous, tag, name, state, lengths, data, start)


def decode(data: bytes) -> Frame:
    """Return the message that these bytes are.

    Raises:
        StoreUnusableError: They are not one of ours.
    """
    if data[:2] != _MAGIC[:2] or len(data) < _HEADER.size:
        raise StoreUnusableError(
            "somebody else's messages are on the subjects of this store: move them away, or use another stream="
        )
    if data[:3] != _MAGIC:
        raise StoreUnusableError("this store was written by a newer release: upgrade tailrace")
    (
        _,
        kind,
        previous,
        incarnation,
        grave,
        tag,
        last,
        last_tag,
        horizon,
        horizon_tag,
        records,
        size,
        gone,
        gone_size,
        touched,
        named,
        sealed,
        count,
    ) = _HEADER.unpack_from(data)
    at = _HEADER.size
    name = data[at : at + named].decode()
    at += named
    seal = None
    if sealed:
        length = max(0, sealed - 2)
        seal = Seal(data[at : at + length].decode() if sealed > 1 else None)
        at += length
    state = State(
        incarnation,
        grave,
        (last, last_tag),
        (horizon, horizon_tag),
        records,
        size,
        gone,
        gone_size,
        touched,
        seal,
    )
    lengths = unpack_from(f">{count}I", data, at) if count else ()
    return Frame(Kind(kind), previous, tag, name, state, lengths, data, at + PER_RECORD * count)
