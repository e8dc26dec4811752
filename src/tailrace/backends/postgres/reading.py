"""Looking at topics: one statement for any number of them, which is one atomic look."""

import time
from collections.abc import Sequence

from psycopg.types.numeric import Int8

from tailrace.backends.postgres.pages import Head, outcomes, place_of
from tailrace.backends.postgres.session import Session
from tailrace.backends.postgres.statements import Statements
from tailrace.errors import StoreUnusableError
from tailrace.spi import MAX_POSITION, Bounds, ReadOutcome, ReadRequest, Unborn


class Reading:
    """Thread-safe.

    Args:
        patience: Seconds that a call may take.
    """

    def __init__(self, session: Session, statements: Statements, tombstone_for: float, patience: float) -> None:
        self._session = session
        self._statements = statements
        self._tombstone_for = tombstone_for
        self._patience = patience

    def bounds(self, topic: str) -> Bounds | Unborn:
        """Return where a topic stands."""
        ((_, _, packed),) = self._look_at_one(topic, 0, 0, 0)
        head = Head(packed)
        if head.row is None:
            return Unborn(head.now, head.grave)
        if not head.row.sound:
            raise StoreUnusableError("the row of this topic is damaged: restore it from a backup")
        return head.row.bounds

    def read(self, requests: Sequence[ReadRequest]) -> Sequence[ReadOutcome]:
        """Check places, and read after them."""
        if not requests:
            return ()
        if len(requests) == 1:
            (only,) = requests
            rows = self._look_at_one(only.topic, place_of(only), only.max_records, only.max_bytes)
            return outcomes(requests, rows, self._tombstone_for)
        rows = self._look(
            [request.topic.encode() for request in requests],
            [place_of(request) for request in requests],
            [request.max_records for request in requests],
            [min(request.max_bytes, MAX_POSITION) for request in requests],
        )
        return outcomes(requests, rows, self._tombstone_for)

    def _look(
        self, names: Sequence[bytes], places: Sequence[int], counts: Sequence[int], rooms: Sequence[int]
    ) -> Sequence[tuple[int, int, bytes]]:
        values = {
            "names": names,
            "places": [*map(Int8, places)],
            "counts": [*map(Int8, counts)],
            "rooms": [*map(Int8, rooms)],
        }
        return self._session.ask(self._statements.read, values, time.monotonic() + self._patience, "read")

    def _look_at_one(self, topic: str, place: int, count: int, room: int) -> Sequence[tuple[int, int, bytes]]:
        values = {
            "name": topic.encode(),
            "place": Int8(place),
            "count": Int8(count),
            "room": Int8(min(room, MAX_POSITION)),
        }
        return self._session.ask(self._statements.read_one, values, time.monotonic() + self._patience, "read")
