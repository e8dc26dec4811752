"""What the rows of ``Statements.read`` say. Pure."""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Any

from tailrace.backends.sql.places import page, resolve
from tailrace.backends.sql.rows import TopicRow
from tailrace.errors import StoreUnusableError
from tailrace.spi import Boundary, ReadFailed, ReadOutcome, ReadRequest, Unborn

_MOMENT = Struct(">qq")
_TOPIC = Struct(">9q")
_DAMAGED = (
    "the records of this topic are not what its row says: somebody removed or changed rows of these tables: "
    "restore them from a backup, or delete the topic"
)


def place_of(request: ReadRequest) -> int:
    """Return the position that a request reads after."""
    return 0 if isinstance(request.after, Unborn) else request.after.position


class Head:
    """Where a topic stands, at one moment.

    Attributes:
        now: The server's clock, microseconds since the epoch.
        grave: Incarnation of the last life of that name that is remembered, 0 for none.
        tag: Of the record at the place that was asked for; ``None`` if there is none.
        row: ``None`` if there is no such topic.
    """

    __slots__ = ("grave", "now", "row", "tag")

    def __init__(self, packed: bytes) -> None:
        self.now, self.grave = _MOMENT.unpack_from(packed)
        self.row: TopicRow | None = None
        self.tag: int | None = None
        if len(packed) > _MOMENT.size:
            tag, *values = _TOPIC.unpack_from(packed, _MOMENT.size)
            sealed = packed[_MOMENT.size + _TOPIC.size :]
            self.tag = None if tag < 0 else tag
            error = sealed[2:] if len(sealed) > 1 else None
            self.row = TopicRow._make((*values, None, bool(sealed), error))


def outcomes(requests: Sequence[ReadRequest], rows: Sequence[Any], tombstone_for: float) -> Sequence[ReadOutcome]:
    """Return one outcome per request, in order."""
    if len(requests) == 1:
        return (outcome(requests[0], Head(rows[0][2]), rows[1:], tombstone_for),)
    found: dict[int, ReadOutcome] = {}
    for number, head, records in _answers(rows):
        found[number] = outcome(requests[number - 1], Head(head), records, tombstone_for)
    return [found[number] for number in range(1, len(requests) + 1)]


def outcome(request: ReadRequest, head: Head, records: Sequence[Any], tombstone_for: float) -> ReadOutcome:
    """Return the outcome of one request."""
    row = head.row
    if row is not None and not row.sound:
        return ReadFailed(StoreUnusableError(_DAMAGED))
    after = resolve(request, row, head.grave, head.now, tombstone_for, lambda _: head.tag)
    if not isinstance(after, Boundary):
        return after
    assert row is not None
    wanted = min(request.max_records, row.last_position - after.position)
    # The key of the table sees to it that no two have one position: with both ends right, nothing is missing.
    if wanted > 0 and (
        not records or records[0][0] != after.position + 1 or records[-1][0] != after.position + len(records)
    ):
        return ReadFailed(StoreUnusableError(_DAMAGED))
    return page(row, after, records)


def _answers(rows: Sequence[Any]) -> Iterator[tuple[int, bytes, Sequence[Any]]]:
    # Positions of records begin at 1.
    heads = [at for at, row in enumerate(rows) if not row[0]]
    for at, following in zip(heads, [*heads[1:], len(rows)], strict=True):
        _, number, packed = rows[at]
        yield number, packed, rows[at + 1 : following]
