"""How many entries to ask for: a range of a stream is bounded by their number only, a page by its bytes too.

What a topic's identity said the last time tells how large its records can be. Of those appended since, nobody has
told; few are read before the next look. So a reply stays within a small multiple of a page's bytes, at the cost of a
second round trip when a reader is far behind a topic that nobody here has looked at.
"""

from typing import NamedTuple

from tailrace.backends.redis.identity import Identity
from tailrace.spi import Boundary, ReadRequest

UNTOLD = 16
"""Records read of which nothing is known."""

MULTIPLE = 4
"""A reply may hold that many times what a page may, so that one large record does not make all pages small."""

_REMEMBERED = 16384


class _Known(NamedTuple):
    incarnation: int
    last: int
    largest: int


class Sizes:
    """What is known of the topics of one store. Thread-safe: each entry is replaced as a whole."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def note(self, topic: str, identity: Identity) -> None:
        """Remember what a look at a topic told."""
        tail = identity.bounds.tail
        if len(self._known) >= _REMEMBERED and topic not in self._known:
            self._known.clear()
        self._known[topic] = _Known(tail.incarnation, tail.position, identity.largest)

    def count(self, request: ReadRequest) -> int:
        """Return how many records to ask for, at least one unless none is wanted."""
        wanted = request.max_records
        after, known = request.after, self._known.get(request.topic)
        if wanted <= 1 or known is None:
            return min(wanted, MULTIPLE)
        if not isinstance(after, Boundary):
            after = Boundary(known.incarnation, 0, 0)
        if known.incarnation != after.incarnation:
            return min(wanted, MULTIPLE)
        if known.largest * wanted > request.max_bytes:
            wanted = min(wanted, max(MULTIPLE, MULTIPLE * request.max_bytes // known.largest))
        return min(wanted, max(0, known.last - after.position) + UNTOLD)
