"""From one look at a topic to a page, or to why there is none. Pure.

The range begins with the place's own record, whose tag proves the history. Sequences are dense, so that the first id,
the last id and the number of entries tell whether one is missing.
"""

from collections.abc import Sequence
from typing import TypeAlias

from tailrace.backends.redis.identity import Identity, tag_of
from tailrace.backends.redis.keys import TopicKeys
from tailrace.errors import StoreUnusableError
from tailrace.spi import (
    Boundary,
    Bounds,
    Page,
    PositionLost,
    ReadOutcome,
    ReadRequest,
    StoredRecord,
    Unborn,
    lost_birth,
    lost_place,
)

Entry: TypeAlias = tuple[bytes, tuple[bytes, bytes]]
"""An id and a field with its value, as ``XRANGE`` returns them."""


def page(
    request: ReadRequest,
    count: int,
    identity: Identity | None,
    entries: Sequence[Entry],
    grave: int,
    now: int,
    tombstone_for: float,
    keys: TopicKeys,
) -> ReadOutcome:
    """Check a place and return what follows it.

    Args:
        count: How many records were asked for, without the place's own.
        grave: Of the topic.
        now: The server's clock in microseconds; only of interest for an unborn place.
    """
    after = request.after
    if isinstance(after, Unborn):
        lost = lost_birth(after, grave, now, tombstone_for)
        if lost is not None or identity is None:
            return lost or Page((), after)
        after = Boundary(identity.bounds.tail.incarnation, 0, 0)
    if identity is None:
        return PositionLost("the topic was deleted")
    bounds = identity.bounds
    sequence, low = split(entries[0]) if entries else (0, b"0")
    own = bool(entries) and sequence == after.position
    if own or not _precedes(after, bounds, sequence, low):
        lost = lost_place(after, bounds, lambda _position: tag_of(low) if own else None)
        if lost is not None:
            return lost
    first = 1 if own else 0
    records = _records(entries[first : first + min(count, request.max_records)], after.position, bounds, keys)
    if identity.largest * len(records) > request.max_bytes:
        records = _fitting(records, request.max_bytes)
    if not records:
        more = after.position < bounds.tail.position
        if more and request.max_records:
            return PositionLost("records after this place were removed by somebody else, or evicted")
        return Page((), after, more, bounds.seal)
    position, tag, _payload = records[-1]
    return Page(records, Boundary(after.incarnation, position, tag), position < bounds.tail.position, bounds.seal)


def split(entry: Entry) -> tuple[int, bytes]:
    """Return the two halves of an entry's id."""
    sequence, _, low = entry[0].partition(b"-")
    return int(sequence), low


def microseconds(clock: Sequence[bytes]) -> int:
    """Return what TIME said, in microseconds since the epoch."""
    return int(clock[0]) * 1_000_000 + int(clock[1])


def check_ours(sequence: int, bounds: Bounds, keys: TopicKeys) -> None:
    """Refuse an entry that no append of ours has written.

    Raises:
        StoreUnusableError: It is after the last.
    """
    if sequence > bounds.tail.position:
        raise _foreign(keys)


def _precedes(after: Boundary, bounds: Bounds, sequence: int, low: bytes) -> bool:
    # The place before the first record that is left of a topic with holes: that record proves it.
    return (
        after.incarnation == bounds.tail.incarnation
        and bounds.beginning.position < after.position == sequence - 1
        and tag_of(low) == after.tag
    )


def _records(entries: Sequence[Entry], position: int, bounds: Bounds, keys: TopicKeys) -> list[StoredRecord]:
    """Return what follows a position without a gap."""
    if not entries:
        return []
    first, last = split(entries[0])[0], split(entries[-1])[0]
    check_ours(last, bounds, keys)
    if first != position + 1 or last != position + len(entries):
        entries = _up_to_the_hole(entries, position, keys)
    tags: dict[bytes, int] = {}
    records: list[StoredRecord] = []
    add = records.append
    for at, (entry, fields) in enumerate(entries, position + 1):
        low = entry.partition(b"-")[2]
        tag = tags.get(low)
        if tag is None:
            tag = tags[low] = tag_of(low)
        # A plain tuple: rows of the named kind cost a third of the page.
        add((at, tag, fields[1]))  # type: ignore[arg-type]
    return records


def _up_to_the_hole(entries: Sequence[Entry], position: int, keys: TopicKeys) -> Sequence[Entry]:
    for at, entry in enumerate(entries):
        sequence = split(entry)[0]
        if sequence <= position + at:
            raise _foreign(keys)
        if sequence > position + at + 1:
            return entries[:at]
    return entries


def _fitting(records: list[StoredRecord], room: int) -> list[StoredRecord]:
    for at, (_position, _tag, payload) in enumerate(records):
        room -= len(payload)
        if room < 0:
            return records[: max(1, at)]
    return records


def _foreign(keys: TopicKeys) -> StoreUnusableError:
    return StoreUnusableError(f"entries of somebody else are among the records of this topic ({keys})")
