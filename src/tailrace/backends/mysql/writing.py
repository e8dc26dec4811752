"""Changing topics inside a transaction: growing, sealing, cutting, burying.

An append takes two round trips: one that locks the topics and says where they stand, one that adds and commits. As long
as only the first was sent nothing can be stored, so whatever goes wrong there may be tried again.

What is here runs on any connection that takes statements one after the other, also on one of an application, inside a
transaction of its own.
"""

import os
from collections.abc import Callable, Sequence
from itertools import accumulate, islice
from typing import TypeAlias

from tailrace.backends.mysql import literals
from tailrace.backends.mysql.line import Rows
from tailrace.backends.mysql.rows import TopicRow
from tailrace.backends.mysql.tables import Statements
from tailrace.errors import TopicSealedError
from tailrace.options import Retention
from tailrace.spi import AppendDeferred, Appended, AppendOutcome, AppendRefused, Boundary, Entry

CUT_RECORDS = 1000
"""Old records removed by one append, beyond as many as it brings: a limit that was lowered is reached in steps."""

STATEMENT_BYTES = 2**18
"""About how long a statement that adds records may become."""

Ask: TypeAlias = Callable[[Sequence[bytes]], Sequence[Rows]]
"""Runs statements in order; returns the rows of each."""


class Growth:
    """One transaction that appends, as statements: what it found, and what is to be sent to end it.

    Args:
        packet: Bytes that one statement may have.
    """

    def __init__(self, statements: Statements, entries: Sequence[Entry], keep: Retention, packet: int) -> None:
        self._statements = statements
        self._entries = entries
        self._limits = Retention(max_records=keep.max_records, max_bytes=keep.max_bytes)
        self._packet = packet
        self._tag = random_number(4)
        self._by_topic: dict[str, list[int]] = {}
        for index, entry in enumerate(entries):
            self._by_topic.setdefault(entry.topic, []).append(index)
        self.outcomes: list[AppendOutcome] = [AppendDeferred()] * len(entries)

    def prepare(self, ask: Ask, *, wait: bool, create: bool = True) -> list[bytes]:
        """Lock the topics; return the statements that add the records, and note what their success will mean.

        Locks are taken in the order of names, so that two batches do not wait for each other. Without ``wait``, topics
        that somebody else has locked stay deferred.

        Args:
            create: Whether topics that are not there are made; without it they stay deferred too.
        """
        names = sorted(topic.encode() for topic in self._by_topic)
        lock = self._statements.lock % b",".join(map(literals.text, names)) + (b"" if wait else b" SKIP LOCKED")
        rows = {row[-1]: TopicRow._make(row) for row in ask([lock])[-1]}
        missing = [name for name in names if name not in rows]
        if missing and create:
            # Not there, or locked and skipped. To create one that is there would wait for whoever has it locked.
            exist = self._statements.exist % b",".join(map(literals.text, missing))
            there = {bytes(name) for (name,) in ask([exist])[-1]}
            missing = [name for name in missing if name not in there]
        statements: list[bytes] = []
        for name in names:
            topic = name.decode()
            if name in rows:
                statements += self._grow(ask, topic, rows[name])
            elif create and name in missing:
                statements += self._create(ask, topic)
        return statements

    def _grow(self, ask: Ask, topic: str, row: TopicRow) -> list[bytes]:
        indices = self._by_topic[topic]
        if row.sealed:
            for index in indices:
                self.outcomes[index] = AppendRefused(sealed())
            return []
        payloads = self._payloads(indices)
        sizes = list(map(len, payloads))
        last = row.last_position + len(payloads)
        first = self._statements.first if row.first_at is None else b""
        self._appended(indices, row.incarnation, row.last_position)
        statements = [
            *self._add(b"%d" % row.id, row.last_position, payloads),
            self._statements.grow % (last, self._tag, sum(sizes), max(row.largest, *sizes), first, row.id),
        ]
        if self._over(row.records + len(payloads), row.size + sum(sizes)):
            ask(statements)
            return self._cut(ask, row.name, len(payloads))
        return statements

    def _over(self, records: int, size: int) -> bool:
        # A large topic is cut once in a while, to exactly the limit, not by one record at each append.
        most, largest = self._limits.max_records, self._limits.max_bytes
        return (most is not None and records > most + min(most // 16, 256)) or (
            largest is not None and size > largest + min(largest // 16, 2**20)
        )

    def _cut(self, ask: Ask, name: bytes, added: int) -> list[bytes]:
        row = TopicRow._make(ask([self._statements.lock % literals.text(name)])[-1][0])
        return cut(ask, self._statements, row, self._limits, 0, CUT_RECORDS + added).statements

    def _create(self, ask: Ask, topic: str) -> list[bytes]:
        indices = self._by_topic[topic]
        payloads = self._payloads(indices)
        sizes = list(map(len, payloads))
        # Created in one transaction with its first records: nobody sees it empty.
        incarnation = new_incarnation()
        self._appended(indices, incarnation, 0)
        made = (len(payloads), self._tag, sum(sizes), max(sizes), len(payloads), 0, b"NULL")
        statements = [
            self._statements.create % (literals.text(topic.encode()), incarnation, *made),
            b"SET @tailrace_topic = LAST_INSERT_ID()",
            *self._add(b"@tailrace_topic", 0, payloads),
        ]
        if self._over(len(payloads), sum(sizes)):
            ask(statements)
            return self._cut(ask, topic.encode(), len(payloads))
        return statements

    def _payloads(self, indices: Sequence[int]) -> Sequence[bytes]:
        if len(indices) == 1:
            return self._entries[indices[0]].payloads
        return [payload for index in indices for payload in self._entries[index].payloads]

    def _appended(self, indices: Sequence[int], incarnation: int, last: int) -> None:
        ends = accumulate((len(self._entries[index].payloads) for index in indices), initial=last)
        for index, end in zip(indices, islice(ends, 1, None), strict=True):
            self.outcomes[index] = Appended(Boundary(incarnation, end, self._tag))

    def _add(self, topic_id: bytes, last: int, payloads: Sequence[bytes]) -> list[bytes]:
        statements: list[bytes] = []
        rows: list[bytes] = []
        room = 0
        for position, payload in enumerate(payloads, last + 1):
            literal = literals.payload(payload)
            if len(literal) > self._packet:
                parts, literal = _in_parts(payload, self._packet // 2)
                statements += parts
            row = self._statements.added % (topic_id, position, self._tag, len(payload), literal)
            if rows and len(row) > room:
                statements.append(self._statements.add + b",".join(rows))
                rows = []
            if not rows:
                room = STATEMENT_BYTES
            rows.append(row)
            room -= len(row)
        return [*statements, self._statements.add + b",".join(rows)]


class Cut:
    """What will have been removed from the old end of a topic once ``statements`` have run.

    Attributes:
        more: There was no room to remove everything.
    """

    def __init__(self, statements: list[bytes], records: int = 0, size: int = 0, *, more: bool = False) -> None:
        self.statements = statements
        self.records = records
        self.bytes = size
        self.more = more


def cut(ask: Ask, statements: Statements, row: TopicRow, keep: Retention, oldest: int, room: int) -> Cut:
    """Find at most ``room`` records that are not kept, and say how to remove them. The topic is locked.

    Args:
        oldest: The earliest stamp that ``keep.max_age`` keeps.
    """
    left, size = row.records, row.size
    position, tag, removed, freed = row.horizon_position, row.horizon_tag, 0, 0
    for candidate, its_tag, at, length in ask([statements.oldest % (row.id, position, room)])[-1]:
        over = (
            (keep.max_records is not None and left - removed > keep.max_records)
            or (keep.max_bytes is not None and size - freed > keep.max_bytes)
            or (keep.max_age is not None and at < oldest)
        )
        if not over:
            break
        position, tag, removed, freed = candidate, its_tag, removed + 1, freed + length
    if not removed:
        return Cut([])
    first = ask([statements.stamp % (row.id, position + 1)])[-1]
    first_at = b"%d" % first[0][0] if first else b"NULL"
    return Cut(
        [
            statements.raise_horizon % (position, tag, freed, first_at, row.id),
            statements.drop_records % (row.id, position),
        ],
        removed,
        freed,
        more=removed == room and bool(first),
    )


def bury(statements: Statements, row: TopicRow) -> list[bytes]:
    """Return what ends a topic's life. Its records are unreadable from then on, and reclaimed later."""
    buried = [statements.bury % (literals.text(row.name), row.incarnation), statements.drop_topic % row.id]
    return [*buried, statements.leave_remains % row.id] if row.records else buried


def seal(ask: Ask, statements: Statements, topic: str, error: bytes | None) -> list[bytes]:
    """Return what ends a topic as it was asked for; nothing if it has ended."""
    name = literals.text(topic.encode())
    found = ask([statements.lock % name])[-1]
    if not found:
        made = (new_incarnation(), 0, 0, 0, 0, 0, 1, literals.nullable(error))
        return [statements.create % (name, *made)]
    row = TopicRow._make(found[0])
    return [] if row.sealed else [statements.seal % (literals.nullable(error), row.id)]


def random_number(size: int) -> int:
    """Return a random number of so many bytes, never 0."""
    return int.from_bytes(os.urandom(size), "big") or 1


def new_incarnation() -> int:
    """Return the identity of a new life."""
    return random_number(8) & (2**63 - 1) or 1


def sealed() -> TopicSealedError:
    """Return what an append to a sealed topic is refused with."""
    return TopicSealedError("the topic is sealed: nothing can be appended to it any more")


def _in_parts(payload: bytes, room: int) -> tuple[list[bytes], bytes]:
    """Return statements that bring a payload over in parts, and what stands for all of it then."""
    # Whatever its bytes are, one part is at most twice as long as a literal.
    step = max(1, room - 64) // 2
    starts = range(0, len(payload), step)
    parts = [
        b"SET @tailrace_%d = %b" % (n, literals.payload(payload[start : start + step]))
        for n, start in enumerate(starts)
    ]
    return parts, b"CONCAT(%b)" % b",".join(b"@tailrace_%d" % n for n in range(len(parts)))
