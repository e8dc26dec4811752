"""Looking at topics: where they stand, whether a place holds, what follows it. Writes nothing.

One MULTI/EXEC per topic holds the identity and a range of the stream, from the place's own record on: its tag proves
the history. Sequences are dense, so that the first id, the last id and the number of entries tell whether one is
missing.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from tailrace.backends.redis.errors import explain
from tailrace.backends.redis.identity import FIELDS, Identity, grave_of, parse, tag_of
from tailrace.backends.redis.keys import Keys, TopicKeys
from tailrace.backends.redis.nodes import Nodes, Question, Trouble
from tailrace.backends.redis.resp import pack
from tailrace.backends.redis.sizes import Sizes
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.spi import (
    Boundary,
    Bounds,
    Page,
    PositionLost,
    ReadFailed,
    ReadOutcome,
    ReadRequest,
    StoredRecord,
    Unborn,
    lost_birth,
    lost_place,
)

Entries: TypeAlias = list[tuple[bytes, tuple[bytes, bytes]]]

_MULTI, _EXEC, _TIME = pack((b"MULTI",)), pack((b"EXEC",)), pack((b"TIME",))

_HOLE = PositionLost("records after this place were removed by somebody else, or evicted")
_DAMAGED = "the identity of this topic is damaged: restore it from a backup, or delete the topic"


class Reading:
    """Reads one store. Thread-safe."""

    def __init__(self, nodes: Nodes, keys: Keys, tombstone_for: float, patience: float) -> None:
        self._nodes = nodes
        self._keys = keys
        self._tombstone_for = tombstone_for
        self._patience = patience
        self._sizes = Sizes()

    def bounds(self, topic: str) -> Bounds | Unborn:
        """Return where a topic stands."""
        keys = self._keys.of(topic)
        length = pack((b"XLEN", keys.stream))
        values, entries, clock = self._ask_one(keys, [_identity(keys), length, _TIME])
        identity = self._parse(values, entries, keys)
        if identity is None:
            return Unborn(_microseconds(clock), grave_of(values))
        self._sizes.note(topic, identity)
        return identity.bounds if entries == identity.records else self._bounds_with_holes(keys)

    def _bounds_with_holes(self, keys: TopicKeys) -> Bounds:
        # Somebody else removed records. The beginning is before the first that is left, whose tag proves it.
        first = pack((b"XRANGE", keys.stream, b"-", b"+", b"COUNT", b"1"))
        values, entries = self._ask_one(keys, [_identity(keys), first])
        identity = self._parse(values, entries, keys)
        if identity is None:
            raise DurableStreamUnavailableError("the topic was deleted at this moment")
        bounds = identity.bounds
        if not entries:
            return Bounds(bounds.tail, bounds.tail, bounds.seal)
        sequence, low = _split(entries[0][0])
        if sequence == bounds.beginning.position + 1:
            return bounds
        _check_ours(sequence, bounds, keys)
        return Bounds(Boundary(bounds.tail.incarnation, sequence - 1, tag_of(low)), bounds.tail, bounds.seal)

    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        """Check each place and read after it."""
        counts = [self._sizes.count(request) for request in requests]
        questions = [self._question(*asked) for asked in zip(requests, counts, strict=True)]
        answers = self._nodes.ask(questions, self._patience)
        return [self._outcome(*answered) for answered in zip(requests, counts, answers, strict=True)]

    def _question(self, request: ReadRequest, count: int) -> Question:
        keys = self._keys.of(request.topic)
        after = request.after
        start = b"%d-0" % after.position if isinstance(after, Boundary) else b"-"
        entries = pack((b"XRANGE", keys.stream, start, b"+", b"COUNT", count + 1))
        if isinstance(after, Unborn):
            return Question(keys.stream, _MULTI + _identity(keys) + entries + _TIME + _EXEC, 5)
        return Question(keys.stream, _MULTI + _identity(keys) + entries + _EXEC, 4)

    def _outcome(self, request: ReadRequest, count: int, answer: "list[Any] | Trouble") -> ReadOutcome:
        if isinstance(answer, Trouble):
            return ReadFailed(answer.error)
        keys = self._keys.of(request.topic)
        try:
            values, entries, *clock = self._executed(answer, keys)
            return self._page(request, count, values, entries, clock)
        except DurableStreamUnavailableError as exc:
            return ReadFailed(exc)

    def _page(
        self, request: ReadRequest, count: int, values: "Sequence[bytes | None]", entries: Entries, clock: list[Any]
    ) -> ReadOutcome:
        keys = self._keys.of(request.topic)
        identity = self._parse(values, entries, keys) if isinstance(request.after, Unborn) else _sound(values)
        after = request.after
        if isinstance(after, Unborn):
            lost = lost_birth(after, grave_of(values), _microseconds(clock[0]), self._tombstone_for)
            if lost is not None or identity is None:
                return lost or Page((), after)
            after = Boundary(identity.bounds.tail.incarnation, 0, 0)
        if identity is None:
            return PositionLost("the topic was deleted")
        self._sizes.note(request.topic, identity)
        bounds = identity.bounds
        own = bool(entries) and _split(entries[0][0])[0] == after.position
        if not _follows(after, bounds, entries, own=own):
            tag = tag_of(_split(entries[0][0])[1]) if own else None
            lost = lost_place(after, bounds, lambda _position: tag)
            if lost is not None:
                return lost
        if own:
            entries = entries[1:]
        records = _records(entries[: min(count, request.max_records)], after.position, bounds, keys)
        if identity.largest * len(records) > request.max_bytes:
            records = _fitting(records, request.max_bytes)
        if not records:
            more = after.position < bounds.tail.position
            # Nothing where something should be is a hole right behind the place.
            return _HOLE if more and request.max_records else Page((), after, more, bounds.seal)
        position, tag, _payload = records[-1]
        end = Boundary(after.incarnation, position, tag)
        return Page(records, end, position < bounds.tail.position, bounds.seal)

    def _ask_one(self, keys: TopicKeys, commands: list[bytes]) -> list[Any]:
        question = Question(keys.stream, b"".join((_MULTI, *commands, _EXEC)), len(commands) + 2)
        answer = self._nodes.ask_one(question, self._patience)
        if isinstance(answer, Trouble):
            raise answer.error
        return self._executed(answer, keys)

    def _executed(self, replies: list[Any], keys: TopicKeys) -> list[Any]:
        # A command that is refused when it is queued spoils EXEC, which then says nothing of the reason.
        for reply in (*replies[:-1], replies[-1], *(replies[-1] if isinstance(replies[-1], list) else ())):
            if isinstance(reply, Exception):
                raise explain(reply, self._nodes.name, keys) from reply
        executed: list[Any] = replies[-1]
        return executed

    def _parse(self, values: "Sequence[bytes | None]", entries: object, keys: TopicKeys) -> Identity | None:
        identity = _sound(values)
        if identity is None and entries:
            raise explain(ReplyError("ORPHANED the stream is there"), self._nodes.name, keys)
        return identity


class ReplyError(Exception):
    """What the server would have answered, had it been asked."""


def _identity(keys: TopicKeys) -> bytes:
    return pack((b"HMGET", keys.identity, *FIELDS))


def _sound(values: "Sequence[bytes | None]") -> Identity | None:
    try:
        return parse(values)
    except ValueError:
        raise StoreUnusableError(_DAMAGED) from None


def _follows(after: Boundary, bounds: Bounds, entries: Entries, *, own: bool) -> bool:
    # The place before the first record that is left of a topic with holes: that record proves it.
    if own or not entries or after.incarnation != bounds.tail.incarnation or not after.position:
        return False
    sequence, low = _split(entries[0][0])
    return bounds.beginning.position < after.position == sequence - 1 and tag_of(low) == after.tag


def _records(entries: Entries, position: int, bounds: Bounds, keys: TopicKeys) -> list[StoredRecord]:
    """Return what follows a position without a gap."""
    if not entries:
        return []
    first, last = _split(entries[0][0])[0], _split(entries[-1][0])[0]
    _check_ours(last, bounds, keys)
    if first != position + 1 or last != position + len(entries):
        entries = _up_to_the_hole(entries, position, keys)
    tags: dict[bytes, int] = {}
    records: list[StoredRecord] = []
    for at, (entry, fields) in enumerate(entries, position + 1):
        low = entry.partition(b"-")[2]
        tag = tags.get(low)
        if tag is None:
            tag = tags[low] = tag_of(low)
        records.append((at, tag, fields[1]))  # type: ignore[arg-type]
    return records


def _up_to_the_hole(entries: Entries, position: int, keys: TopicKeys) -> Entries:
    for at, (entry, _fields) in enumerate(entries):
        sequence = _split(entry)[0]
        if sequence <= position + at:
            raise StoreUnusableError(f"entries of somebody else are among the records of this topic ({keys})")
        if sequence > position + at + 1:
            return entries[:at]
    return entries


def _fitting(records: list[StoredRecord], room: int) -> list[StoredRecord]:
    for at, (_position, _tag, payload) in enumerate(records):
        room -= len(payload)
        if room < 0:
            return records[: max(1, at)]
    return records


def _check_ours(sequence: int, bounds: Bounds, keys: TopicKeys) -> None:
    if sequence > bounds.tail.position:
        raise StoreUnusableError(f"entries of somebody else are in the stream of this topic ({keys})")


def _split(entry: bytes) -> tuple[int, bytes]:
    sequence, _, low = entry.partition(b"-")
    return int(sequence), low


def _microseconds(clock: Sequence[bytes]) -> int:
    return int(clock[0]) * 1_000_000 + int(clock[1])
