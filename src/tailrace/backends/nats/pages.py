"""From messages to a page, or to why there is none. Pure.

Loss is concluded from the chain: each message names the one before it and the last record before it. Sequences of a
topic have holes, because other topics share them, and a hole means nothing.
"""

from collections.abc import Sequence

from tailrace.backends.nats.frames import Frame, Kind, index_of, position, sequence_of
from tailrace.backends.nats.stored import Head, Stored
from tailrace.spi import Boundary, Page, PositionLost, ReadOutcome, ReadRequest, StoredRecord

_REMOVED = "records after this place were removed by somebody else"
_HISTORY = "this place belongs to another history of the topic"


def lost(after: Boundary, head: Head) -> PositionLost | None:
    """Say why a place does not hold, as far as the topic's newest message tells."""
    state = head.state
    if state is None:
        return PositionLost("the topic was deleted")
    if state.incarnation != after.incarnation:
        return PositionLost("the topic was deleted and created again")
    place = after[1:]
    if after.position < state.horizon[0]:
        return PositionLost("records after this place were removed by retention")
    if after.position > state.last[0]:
        return PositionLost(_HISTORY)
    for known in (state.horizon, state.last):
        if after.position == known[0] and place != known:
            return PositionLost(_HISTORY)
    return None


def page(request: ReadRequest, after: Boundary, messages: Sequence[Stored], head: Head) -> ReadOutcome | None:
    """Return what follows a place; ``None`` if these messages do not reach the next record.

    Args:
        messages: Of the topic, in order, from the one of the place on, or from its first.
        head: Where the topic stands, not before those were read.
    """
    why = lost(after, head)
    if why is not None:
        return why
    assert head.state is not None
    tail, seal = head.state.tail, head.state.seal
    if after == tail:
        return Page((), after, False, seal)
    # The end of an earlier life may still stand before the first message of this one.
    own = [message for message in messages if message.frame.state.incarnation == after.incarnation]
    if not own:
        return None
    first = _records_after(after, own[0])
    if first is None:
        return PositionLost(_REMOVED if own[0].sequence > sequence_of(after.position) else _HISTORY)
    if not request.max_records:
        return Page((), after, True, seal)
    records, broken = _collect(request, first, own)
    if records:
        place, tag, _ = records[-1]
        end = Boundary(after.incarnation, place, tag)
        return Page(records, end, end != tail, seal)
    return PositionLost(_REMOVED) if broken else None


def _records_after(after: Boundary, first: Stored) -> list[StoredRecord] | None:
    """Return the records of the first message that follow the place; ``None`` if the place is not proved by it."""
    frame = first.frame
    if first.sequence != sequence_of(after.position):
        return _records(first, 0) if frame.state.last == after[1:] else None
    index = index_of(after.position)
    return _records(first, index + 1) if frame.tag == after.tag and index < len(frame.lengths) else None


def _collect(
    request: ReadRequest, records: list[StoredRecord], messages: Sequence[Stored]
) -> tuple[list[StoredRecord], bool]:
    """Return as many records as asked for, and whether the chain broke."""
    most, room = request.max_records, request.max_bytes
    before, broken = messages[0], False
    for message in messages[1:]:
        if len(records) >= most:
            break
        if message.frame.previous != before.sequence:
            # Removed between two looks of the same answer. The next read begins here, and finds out.
            broken = True
            break
        before = message
        if message.frame.kind is Kind.RECORDS:
            records += _records(message, 0)
    for at, record in enumerate(records[:most]):
        room -= len(record[2])
        if room < 0 and at:
            return records[:at], False
    return records[:most], broken


def _records(message: Stored, start: int) -> list[StoredRecord]:
    frame: Frame = message.frame
    tag, base = frame.tag, position(message.sequence, 0)
    # Plain tuples: rows of the named kind cost a third of the page.
    records = [(base + at, tag, payload) for at, payload in enumerate(frame.payloads())]
    return records[start:] if start else records  # type: ignore[return-value]
