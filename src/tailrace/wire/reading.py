"""A read of many topics: requests in JSON, answered by frames that each hold the outcomes of some of them, in order."""

from collections.abc import Iterable, Sequence

from tailrace import spi
from tailrace.boundaries import MAX_POSITION
from tailrace.wire import checks
from tailrace.wire.failures import failure_of, kind_of
from tailrace.wire.framing import MalformedError, frame, from_json, to_json
from tailrace.wire.places import place_from, seal_from_list, seal_to_list

_MOST = 2**31


def requests_to(requests: Iterable[spi.ReadRequest]) -> bytes:
    """Return the body that asks for it."""
    return to_json({"requests": list(requests)})


def requests_from(data: bytes) -> Sequence[spi.ReadRequest]:
    """Return what a body asks for.

    Raises:
        MalformedError: It is not one.
    """
    [asked] = checks.members(from_json(data, "the body"), "the body", "requests")
    found = [_request(each) for each in checks.items(asked, "requests")]
    if not found:
        raise MalformedError("there are no requests")
    return found


def _request(asked: object) -> spi.ReadRequest:
    topic, after, max_records, max_bytes = checks.items(asked, "a request", 4)
    return spi.ReadRequest(
        checks.topic(topic),
        place_from(after),
        checks.whole(max_records, "max_records", _MOST),
        checks.whole(max_bytes, "max_bytes", _MOST),
    )


def pack_pages(outcomes: Sequence[spi.ReadOutcome]) -> bytes:
    """Return the frame of some outcomes."""
    payloads = (record[2] for outcome in outcomes if isinstance(outcome, spi.Page) for record in outcome.records)
    return frame([_told(outcome) for outcome in outcomes], payloads)


def _told(outcome: spi.ReadOutcome) -> list[object]:
    match outcome:
        case spi.Page(records, end, more, seal):
            # By place: a store may hand on its driver's own rows.
            positions = [record[0] for record in records]
            tags = [record[1] for record in records]
            lengths = [len(record[2]) for record in records]
            return ["page", positions, tags, lengths, end, more, seal_to_list(seal)]
        case spi.PositionLost(reason):
            return ["lost", reason]
        case spi.ReadFailed(error):
            return ["failed", kind_of(error), str(error)]


def unpack_pages(head: object, payloads: memoryview) -> Sequence[spi.ReadOutcome]:
    """Return the outcomes in a frame.

    Raises:
        MalformedError: They are not such.
    """
    found: list[spi.ReadOutcome] = []
    at = 0
    for told in checks.items(head, "the outcomes"):
        match told:
            case ["page", positions, tags, lengths, end, more, seal]:
                page, at = _page(positions, tags, lengths, payloads, at)
                place = place_from(end)
                found.append(spi.Page(page, place, checks.flag(more, "more"), seal_from_list(seal)))
            case ["lost", str(reason)]:
                found.append(spi.PositionLost(reason))
            case ["failed", str(kind), str(message)]:
                found.append(spi.ReadFailed(failure_of(kind, message)))
            case _:
                raise MalformedError("an outcome is none that this release knows")
    if at != len(payloads):
        raise MalformedError("the lengths do not add up to the payloads")
    return found


def _page(
    positions: object, tags: object, lengths: object, payloads: memoryview, at: int
) -> tuple[list[spi.StoredRecord], int]:
    numbered = checks.items(positions, "the positions")
    tagged = checks.items(tags, "the tags", len(numbered))
    measured = checks.items(lengths, "the lengths", len(numbered))
    records: list[spi.StoredRecord] = []
    for position, tag, length in zip(numbered, tagged, measured, strict=True):
        # By hand: it is done for every record that is read.
        if type(position) is not int or type(tag) is not int or not (0 < position <= MAX_POSITION and 0 <= tag < 2**32):
            raise MalformedError("a position or a tag is not a whole number of its range")
        ends = at + checks.whole(length, "a length", len(payloads))
        records.append(spi.StoredRecord(position, tag, bytes(payloads[at:ends])))
        at = ends
    return records, at
