"""Reading: many requests in one statement, each of them judged and answered from that statement's one snapshot."""

from collections.abc import Sequence

from tailrace.backends.mysql import literals
from tailrace.backends.mysql.calls import Calls
from tailrace.backends.mysql.heads import Head, head_of
from tailrace.backends.mysql.line import Line, Rows
from tailrace.backends.mysql.tables import Statements
from tailrace.backends.sql import places
from tailrace.backends.sql.cuts import NO_LIMIT
from tailrace.errors import StoreUnusableError
from tailrace.spi import (
    Boundary,
    Bounds,
    Page,
    ReadFailed,
    ReadOutcome,
    ReadRequest,
    StoredRecord,
    Unborn,
)

AT_ONCE = 50
"""Requests in one statement: each is two more branches of it."""

_DAMAGED = "rows of this topic are damaged or missing: somebody else has changed them; restore a backup"


class Reading:
    """Thread-safe."""

    def __init__(self, calls: Calls, statements: Statements, tombstone_for: float) -> None:
        self._calls = calls
        self._statements = statements
        self._tombstone_for = tombstone_for

    def bounds(self, topic: str, deadline: float) -> Bounds | Unborn:
        """Return where a topic stands."""
        statement = self._head(0, topic, 0)
        rows = self._calls.again(lambda line: line.ask([statement], deadline)[-1], deadline)
        head = head_of(rows[0][3])
        if head.row is None:
            return Unborn(head.now, head.grave)
        if not head.row.sound:
            raise StoreUnusableError(_DAMAGED)
        return head.row.bounds

    def read(self, requests: Sequence[ReadRequest], deadline: float) -> Sequence[ReadOutcome]:
        """Return one outcome for each request."""

        def work(line: Line) -> list[ReadOutcome]:
            outcomes: list[ReadOutcome] = []
            for start in range(0, len(requests), AT_ONCE):
                outcomes += self._read(line, requests[start : start + AT_ONCE], deadline)
            return outcomes

        return self._calls.again(work, deadline)

    def _read(self, line: Line, requests: Sequence[ReadRequest], deadline: float) -> list[ReadOutcome]:
        branches: list[bytes] = []
        for number, request in enumerate(requests):
            branches += self._branches(number, request)
        heads, records = _sorted_out(line.ask([b" UNION ALL ".join(branches)], deadline)[-1], len(requests))
        outcomes: list[ReadOutcome] = []
        for request, head, found in zip(requests, heads, records, strict=True):
            outcome = self._outcome(request, head, found)
            if isinstance(outcome, Page) and outcome.more and outcome.records:
                outcome = self._filled(line, request, outcome, deadline)
            outcomes.append(outcome)
        return outcomes

    def _head(self, number: int, topic: str, position: int) -> bytes:
        name = literals.text(topic.encode())
        return self._statements.head % (number, name, position, name)

    def _branches(self, number: int, request: ReadRequest) -> list[bytes]:
        topic, after, wanted, room = request
        position = 0 if isinstance(after, Unborn) else after.position
        branches = [self._head(number, topic, position)]
        if wanted > 0:
            life = b"" if isinstance(after, Unborn) else b" AND t.incarnation = %d" % after.incarnation
            # No sum of it may leave the range of the server's numbers.
            wanted, room = min(wanted, NO_LIMIT - min(position, NO_LIMIT) + 1), min(max(room, 0), NO_LIMIT)
            name = literals.text(topic.encode())
            branches.append(self._statements.after % (number, name, life, position, position, wanted, room, wanted))
        return branches

    def _outcome(self, request: ReadRequest, head: Head, found: Sequence[StoredRecord]) -> ReadOutcome:
        row = head.row
        if row is not None and not row.sound:
            return ReadFailed(StoreUnusableError(_DAMAGED))
        place = places.resolve(request, row, head.grave, head.now, self._tombstone_for, lambda _: head.tag_at)
        if not isinstance(place, Boundary):
            return place
        assert row is not None
        due = request.max_records > 0 and place.position < row.last_position
        if not places.dense(found, place.position, max(len(found), 1) if due else 0):
            return ReadFailed(StoreUnusableError(_DAMAGED))
        return places.page(row, place, found)

    def _filled(self, line: Line, request: ReadRequest, page: Page, deadline: float) -> Page:
        """Return the page with more records, if it was cut short for one that is large, which may be anywhere else."""
        wanted = request.max_records - len(page.records)
        room = request.max_bytes - sum(len(record[2]) for record in page.records)
        end = page.end
        if wanted <= 0 or room <= 0 or not isinstance(end, Boundary):
            return page
        name = literals.text(request.topic.encode())
        sizes = line.ask([self._statements.sizes % (name, end.incarnation, end.position, wanted)], deadline)[-1]
        fitting = 0
        for (size,) in sizes:
            room -= size
            if room < 0:
                break
            fitting += 1
        if not fitting:
            return page
        # Another look, at another moment: judged like the request of somebody who stands where the page ends.
        branches = (
            self._head(0, request.topic, end.position),
            self._statements.upto % (0, name, end.incarnation, end.position, fitting),
        )
        heads, records = _sorted_out(line.ask([b" UNION ALL ".join(branches)], deadline)[-1], 1)
        more = self._outcome(ReadRequest(request.topic, end, fitting, NO_LIMIT), heads[0], records[0])
        return more._replace(records=[*page.records, *more.records]) if isinstance(more, Page) else page


def _sorted_out(rows: Rows, requests: int) -> tuple[list[Head], list[list[StoredRecord]]]:
    """Return the head and the records of each request."""
    heads: dict[int, Head] = {}
    records: list[list[StoredRecord]] = [[] for _ in range(requests)]
    for number, position, tag, payload in rows:
        if position:
            records[number].append(StoredRecord(position, tag, payload))
        else:
            heads[number] = head_of(payload)
    return [heads[number] for number in range(requests)], records
