"""Reading: many requests in one statement, each of them judged and answered from that statement's one snapshot."""

from collections.abc import Sequence
from typing import Any

from tailrace.backends.mysql import literals
from tailrace.backends.mysql.connections import Connections
from tailrace.backends.mysql.line import Line
from tailrace.backends.mysql.rows import Head, head_of
from tailrace.backends.mysql.tables import Statements
from tailrace.errors import StoreUnusableError
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

AT_ONCE = 50
"""Requests in one statement: each is two more branches of it."""

_MOST = 2**62
_HOLE = "records of this topic are missing in the middle: somebody else has removed them; restore a backup"


class Reading:
    """Thread-safe.

    Args:
        patience: Seconds that a call may take.
    """

    def __init__(self, connections: Connections, statements: Statements, tombstone_for: float) -> None:
        self._connections = connections
        self._statements = statements
        self._tombstone_for = tombstone_for

    def bounds(self, topic: str, deadline: float) -> Bounds | Unborn:
        """Return where a topic stands."""
        statement = self._head(0, topic, 0)
        rows = self._connections.ask_again(lambda line: line.ask([statement], deadline)[-1], deadline)
        head = head_of(_bytes(rows[0][3]))
        return Unborn(head.now, head.grave) if head.bounds is None else head.bounds

    def read(self, requests: Sequence[ReadRequest], deadline: float) -> Sequence[ReadOutcome]:
        """Return one outcome for each request."""

        def work(line: Line) -> list[ReadOutcome]:
            outcomes: list[ReadOutcome] = []
            for start in range(0, len(requests), AT_ONCE):
                outcomes += self._read(line, requests[start : start + AT_ONCE], deadline)
            return outcomes

        return self._connections.ask_again(work, deadline)

    def _read(self, line: Line, requests: Sequence[ReadRequest], deadline: float) -> list[ReadOutcome]:
        branches: list[bytes] = []
        for number, request in enumerate(requests):
            branches += self._branches(number, request)
        heads, records = _sorted_out(line.ask([b" UNION ALL ".join(branches)], deadline)[-1], len(requests))
        outcomes: list[ReadOutcome] = []
        for request, head, found in zip(requests, heads, records, strict=True):
            outcome = self._outcome(request, head, found)
            if isinstance(outcome, Page) and outcome.more and outcome.records:
                outcome = self._filled(line, request, head, outcome, deadline)
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
            wanted, room = min(wanted, _MOST - position), min(max(room, 0), _MOST)
            name = literals.text(topic.encode())
            branches.append(self._statements.after % (number, name, life, position, position, wanted, room, wanted))
        return branches

    def _outcome(self, request: ReadRequest, head: Head, found: Sequence[StoredRecord]) -> ReadOutcome:
        after, bounds = request.after, head.bounds
        if isinstance(after, Unborn):
            lost = lost_birth(after, head.grave, head.now, self._tombstone_for)
            if lost is not None or bounds is None:
                return lost or Page((), after)
            after = Boundary(bounds.tail.incarnation, 0, 0)
        if bounds is None:
            return PositionLost("the topic was deleted")
        lost = lost_place(after, bounds, lambda _: head.tag_at)
        if lost is not None:
            return lost
        wanted = request.max_records > 0 and after.position < bounds.tail.position
        if wanted and (not found or found[0][0] != after.position + 1 or found[-1][0] != after.position + len(found)):
            return ReadFailed(StoreUnusableError(_HOLE))
        end = Boundary(after.incarnation, *found[-1][:2]) if found else after
        return Page(found, end, more=end.position < bounds.tail.position, seal=bounds.seal)

    def _filled(self, line: Line, request: ReadRequest, head: Head, page: Page, deadline: float) -> Page:
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
        more = ReadRequest(request.topic, end, fitting, _MOST)
        head_and_more = [
            self._head(0, more.topic, end.position),
            self._statements.upto % (0, name, end.incarnation, end.position, fitting),
        ]
        heads, records = _sorted_out(line.ask([b" UNION ALL ".join(head_and_more)], deadline)[-1], 1)
        outcome = self._outcome(more, heads[0], records[0])
        if not isinstance(outcome, Page):
            return page
        return outcome._replace(records=[*page.records, *outcome.records])


def _sorted_out(rows: Sequence[Any], requests: int) -> tuple[list[Head], list[list[StoredRecord]]]:
    """Return the head and the records of each request."""
    heads: dict[int, Head] = {}
    records: list[list[StoredRecord]] = [[] for _ in range(requests)]
    for number, position, tag, payload in rows:
        if position:
            records[number].append(StoredRecord(position, tag, payload))
        else:
            heads[number] = head_of(_bytes(payload))
    return [heads[number] for number in range(requests)], records


def _bytes(text: bytes | str) -> bytes:
    # Text when it stands alone, bytes when it shares its column with payloads.
    return text.encode() if isinstance(text, str) else text
