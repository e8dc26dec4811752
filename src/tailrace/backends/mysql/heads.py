"""What a read says of a topic, before its records: one text, so that rows of records need no columns for it."""

from typing import NamedTuple

from tailrace.backends.sql.rows import TopicRow


class Head(NamedTuple):
    """Where a topic stands, in the one look of a read.

    Attributes:
        now: The server's clock, microseconds since the epoch.
        grave: Incarnation of the last deleted life that is remembered, 0 for none.
        row: ``None`` if there is no such topic. Without what reading has no use for.
        tag_at: Tag of the record at the place that was asked for, ``None`` for none there.
    """

    now: int
    grave: int
    row: TopicRow | None
    tag_at: int | None


def head_of(text: bytes | str) -> Head:
    """Read what ``Statements.head`` makes."""
    # Text when it stands alone, bytes when it shares its column with payloads.
    now, grave, *topic = (text.decode() if isinstance(text, bytes) else text).split(",")
    if not topic:
        return Head(int(now), int(grave), None, None)
    tag_at, incarnation, first, first_tag, last, last_tag, largest, sealed = map(int, topic[:8])
    reason = bytes.fromhex(topic[8]) if len(topic) > 8 else None
    row = TopicRow(0, incarnation, first, first_tag, last, last_tag, 0, largest, None, sealed, reason)
    return Head(int(now), int(grave), row, None if tag_at < 0 else tag_at)
