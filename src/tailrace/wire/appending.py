"""An append of many entries: one frame whose bytes are all payloads, and one outcome for each entry."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tailrace import limits, spi
from tailrace.wire import checks
from tailrace.wire.failures import failure_of, kind_of
from tailrace.wire.framing import MalformedError, frame, from_json, only_frame, to_json
from tailrace.wire.places import boundary_from


class AppendAsked(NamedTuple):
    """What is to be appended, and for how many seconds somebody waits for it."""

    entries: Sequence[spi.Entry]
    timeout: float


def pack_append(entries: Iterable[spi.Entry], timeout: float) -> bytes:
    """Return the body that asks for it."""
    chosen = list(entries)
    described = [[entry.topic, [len(payload) for payload in entry.payloads], entry.may_wait] for entry in chosen]
    payloads = (payload for entry in chosen for payload in entry.payloads)
    return frame({"timeout": round(timeout, 3), "entries": described}, payloads)


def unpack_append(data: bytes) -> AppendAsked:
    """Return what a body asks for.

    Raises:
        MalformedError: It is not one.
    """
    head, payloads = only_frame(data)
    timeout, described = checks.members(head, "the head", "timeout", "entries")
    entries: list[spi.Entry] = []
    at = 0
    for each in checks.items(described, "entries"):
        topic, lengths, may_wait = checks.items(each, "an entry", 3)
        cut: list[bytes] = []
        for length in checks.items(lengths, "the lengths of an entry"):
            ends = at + checks.whole(length, "a length", len(payloads))
            cut.append(bytes(payloads[at:ends]))
            at = ends
        if not 1 <= len(cut) <= limits.MAX_APPEND_MANY:
            raise MalformedError(f"an entry has not 1 to {limits.MAX_APPEND_MANY} payloads")
        entries.append(spi.Entry(checks.topic(topic), cut, checks.flag(may_wait, "may_wait")))
    if at != len(payloads):
        raise MalformedError("the lengths do not add up to the payloads")
    if not entries:
        raise MalformedError("there are no entries")
    return AppendAsked(entries, checks.seconds(timeout, "timeout"))


def outcomes_to(outcomes: Iterable[spi.AppendOutcome]) -> bytes:
    """Return what became of each entry, as a body."""
    return to_json({"outcomes": [_told(outcome) for outcome in outcomes]})


def _told(outcome: spi.AppendOutcome) -> list[object]:
    match outcome:
        case spi.Appended(end):
            return ["appended", end]
        case spi.AppendRefused(error):
            return ["refused", kind_of(error), str(error)]
        case spi.AppendUnknown(error):
            return ["unknown", str(error)]
        case spi.AppendDeferred():
            return ["deferred"]


def outcomes_from(data: bytes, count: int) -> Sequence[spi.AppendOutcome]:
    """Return what became of so many entries, from a body.

    Raises:
        MalformedError: It does not say that of each.
    """
    [told] = checks.members(from_json(data, "the answer"), "the answer", "outcomes")
    return [_outcome(each) for each in checks.items(told, "outcomes", count)]


def _outcome(told: object) -> spi.AppendOutcome:
    match told:
        case ["appended", end]:
            return spi.Appended(boundary_from(end))
        case ["refused", str(kind), str(message)]:
            return spi.AppendRefused(failure_of(kind, message))
        case ["unknown", str(message)]:
            return spi.AppendUnknown(failure_of("unknown-outcome", message))
        case ["deferred"]:
            return spi.AppendDeferred()
        case _:
            raise MalformedError("an outcome is none that this release knows")
