"""Changing topics inside a transaction: growing, sealing, cutting, burying.

An append takes two round trips: one that locks the topics and says where they stand, one that adds and commits. As long
as only the first was sent nothing can be stored, so whatever goes wrong there may be tried again.

What is here runs on any connection that takes statements one after the other, also on one of an application, inside a
transaction of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from tailrace.backends.mysql import literals
from tailrace.backends.mysql.adding import adding
from tailrace.backends.mysql.line import Rows
from tailrace.backends.mysql.tables import Statements
from tailrace.backends.sql.batches import Batch, sealed
from tailrace.backends.sql.cuts import CUT_RECORDS, Cut, horizon, overfull
from tailrace.backends.sql.rows import TopicRow
from tailrace.retention import Retention
from tailrace.spi import AppendDeferred, AppendOutcome
from tailrace.spi.identities import random_incarnation, random_tag

Ask: TypeAlias = Callable[[Sequence[bytes]], Sequence[Rows]]
"""Runs statements in order; returns the rows of each."""

Outcomes: TypeAlias = list[tuple[Batch, Sequence[AppendOutcome]]]


class Growth:
    """One transaction that appends.

    Args:
        kept: Returns the bounds of a topic.
        literal: Bytes that a payload may take in a statement.
        quoted: Writes a payload as a literal, at most twice as long as it and a little.
    """

    def __init__(
        self,
        statements: Statements,
        kept: Callable[[str], Retention],
        literal: int,
        quoted: Callable[[bytes], bytes] = literals.payload,
    ) -> None:
        self._statements = statements
        self._kept = kept
        self._literal = literal
        self._quoted = quoted
        self._tag = random_tag()

    def prepare(
        self, ask: Ask, batches: Sequence[Batch], *, wait: bool, create: bool = True
    ) -> tuple[list[bytes], Outcomes]:
        """Lock the topics; return the statements that add the records, and what their success will mean.

        Args:
            batches: In the order of the topics' names, in which they are locked: two calls that lock the same topics
                do not wait for each other.
            wait: Whether to wait for topics that somebody else has locked, or to leave them deferred.
            create: Whether topics that are not there are made, or left deferred.
        """
        rows, missing = self._locked(ask, [batch.topic.encode() for batch in batches], wait=wait)
        statements: list[bytes] = []
        outcomes: Outcomes = []
        for batch in batches:
            name = batch.topic.encode()
            if name in rows:
                outcomes.append((batch, self._grow(ask, batch, rows[name], statements)))
            elif create and name in missing:
                outcomes.append((batch, self._create(ask, batch, statements)))
            else:
                outcomes.append((batch, batch.all(AppendDeferred())))
        return statements, outcomes

    def _locked(self, ask: Ask, names: Sequence[bytes], *, wait: bool) -> tuple[Mapping[bytes, TopicRow], set[bytes]]:
        """Lock what can be; return it, and the names of which there is no topic."""
        rows = self._lock(ask, names, wait=wait)
        while absent := [name for name in names if name not in rows]:
            # Not there, or locked and skipped. To create one that is there would wait for whoever has it locked.
            there = {bytes(row[0]) for row in ask([self._statements.exist % _listed(absent)])[-1]}
            if not (wait and there):
                return rows, set(absent) - there
            # Made by somebody else between the two looks.
            rows |= self._lock(ask, [name for name in absent if name in there], wait=wait)
        return rows, set()

    def _lock(self, ask: Ask, names: Sequence[bytes], *, wait: bool) -> dict[bytes, TopicRow]:
        statement = self._statements.lock % _listed(names) + (b"" if wait else b" SKIP LOCKED")
        return {bytes(row[-1]): TopicRow._make(row[:-1]) for row in ask([statement])[-1]}

    def _grow(self, ask: Ask, batch: Batch, row: TopicRow, statements: list[bytes]) -> Sequence[AppendOutcome]:
        if row.sealed:
            return batch.all(sealed())
        size, longest = batch.sizes
        last = row.last_position + len(batch.payloads)
        first = self._statements.first if row.first_at is None else b""
        statements += self._add(b"%d" % row.id, row.last_position, batch.payloads)
        statements.append(self._statements.grow % (last, self._tag, size, max(row.largest, longest), first, row.id))
        self._keep(ask, batch, row.records + len(batch.payloads), row.size + size, statements)
        return batch.appended(row.incarnation, row.last_position, self._tag)

    def _create(self, ask: Ask, batch: Batch, statements: list[bytes]) -> Sequence[AppendOutcome]:
        incarnation = random_incarnation()
        size, longest = batch.sizes
        count = len(batch.payloads)
        made = (incarnation, count, self._tag, size, longest, count, 0, b"NULL")
        statements.append(self._statements.create % (literals.text(batch.topic.encode()), *made))
        statements.append(b"SET @tailrace_topic = LAST_INSERT_ID()")
        statements += self._add(b"@tailrace_topic", 0, batch.payloads)
        self._keep(ask, batch, count, size, statements)
        return batch.appended(incarnation, 0, self._tag)

    def _keep(self, ask: Ask, batch: Batch, records: int, size: int, statements: list[bytes]) -> None:
        kept = self._kept(batch.topic)
        if not overfull(kept, records, size):
            return
        ask(statements)
        statements.clear()
        name = batch.topic.encode()
        row = self._lock(ask, [name], wait=True)[name]
        limits = Retention(max_records=kept.max_records, max_bytes=kept.max_bytes)
        # With nothing left to send, a transaction is rolled back.
        cutting = cut(ask, self._statements, row, limits, 0, CUT_RECORDS + len(batch.payloads)).statements
        statements += cutting or [b"DO 0"]

    def _add(self, topic_id: bytes, last: int, payloads: Sequence[bytes]) -> list[bytes]:
        return adding(self._statements, topic_id, last, self._tag, payloads, self._literal, self._quoted)


class Cutting(NamedTuple):
    """How to remove records from the old end of a topic, and what is gone then."""

    statements: Sequence[bytes]
    cut: Cut


def cut(ask: Ask, statements: Statements, row: TopicRow, keep: Retention, oldest: int, room: int) -> Cutting:
    """Find at most ``room`` records that are not kept. The topic is locked.

    Args:
        oldest: The earliest stamp that ``keep.max_age`` keeps.
    """
    candidates = ask([statements.oldest % (row.id, row.horizon_position, room)])[-1]
    found = horizon(row, keep, oldest, candidates)
    if found is None:
        return Cutting((), Cut())
    first = ask([statements.stamp % (row.id, found.position + 1)])[-1]
    first_at = b"%d" % first[0][0] if first else b"NULL"
    # The horizon moves first: a reader never looks for what is gone.
    return Cutting(
        (
            statements.raise_horizon % (found.position, found.tag, found.bytes, first_at, row.id),
            statements.drop_records % (row.id, row.horizon_position, found.position),
        ),
        Cut(found.records, found.bytes, more=found.records == room and bool(first)),
    )


def bury(statements: Statements, row: TopicRow, topic: str) -> list[bytes]:
    """Return what ends a topic's life. Its records are unreadable from then on, and reclaimed later."""
    name = literals.text(topic.encode())
    buried = [statements.bury % (name, row.incarnation), statements.drop_topic % row.id]
    return [*buried, statements.leave_remains % row.id] if row.records else buried


def seal(ask: Ask, statements: Statements, topic: str, error: bytes | None) -> list[bytes]:
    """Return what ends a topic as it was asked for; nothing if it has ended."""
    row = find(ask, statements, topic)
    if row is None:
        made = (random_incarnation(), 0, 0, 0, 0, 0, 1, literals.nullable(error))
        return [statements.create % (literals.text(topic.encode()), *made)]
    return [] if row.sealed else [statements.seal % (literals.nullable(error), row.id)]


def find(ask: Ask, statements: Statements, topic: str) -> TopicRow | None:
    """Lock a topic, and return where it stands."""
    rows = ask([statements.lock % literals.text(topic.encode())])[-1]
    return TopicRow._make(rows[0][:-1]) if rows else None


def _listed(names: Sequence[bytes]) -> bytes:
    return b",".join(map(literals.text, names))
