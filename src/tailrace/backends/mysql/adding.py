"""The statements that add records: many rows in one, and a payload that is too large for one in parts. Pure."""

from collections.abc import Callable, Sequence

from tailrace.backends.mysql.tables import Statements

STATEMENT_BYTES = 2**18
"""About how long a statement that adds records may become."""


def adding(
    statements: Statements,
    topic_id: bytes,
    last: int,
    tag: int,
    payloads: Sequence[bytes],
    room: int,
    quoted: Callable[[bytes], bytes],
) -> list[bytes]:
    """Return statements that add records after the last one.

    Args:
        topic_id: As it stands in a statement.
        room: Bytes that a payload may take in a statement.
        quoted: Writes a payload as a literal, at most twice as long as it and a little.
    """
    made: list[bytes] = []
    rows: list[bytes] = []
    left = most_parts = 0
    for position, payload in enumerate(payloads, last + 1):
        literal = quoted(payload)
        if len(literal) > room:
            # What has gathered stands before it: the parts have names that the next large one takes over.
            if rows:
                made.append(statements.add + b",".join(rows))
                rows = []
            parts, literal = _in_parts(payload, room, quoted)
            made += parts
            most_parts = max(most_parts, len(parts))
        row = statements.added % (topic_id, position, tag, len(payload), literal)
        if rows and len(row) > left:
            made.append(statements.add + b",".join(rows))
            rows = []
        if not rows:
            left = STATEMENT_BYTES
        rows.append(row)
        left -= len(row)
    return [*made, statements.add + b",".join(rows), *_without_parts(most_parts)]


def _in_parts(payload: bytes, room: int, quoted: Callable[[bytes], bytes]) -> tuple[list[bytes], bytes]:
    """Return statements that bring a payload over in parts, and what stands for all of it then."""
    # Whatever its bytes are, a part is at most twice as long as a literal.
    step = max(1, (room - 64) // 2)
    parts = [
        b"SET @tailrace_%d = %b" % (number, quoted(payload[start : start + step]))
        for number, start in enumerate(range(0, len(payload), step))
    ]
    return parts, b"CONCAT(%b)" % b",".join(b"@tailrace_%d" % number for number in range(len(parts)))


def _without_parts(count: int) -> list[bytes]:
    # A session keeps them for as long as it lives, and a pool its sessions: tens of megabytes on the server for each.
    return [b"SET " + b", ".join(b"@tailrace_%d = NULL" % number for number in range(count))] if count else []
