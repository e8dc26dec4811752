"""Small records that came along with their hints, until the read that the hint leads to.

The script that appends publishes a lone small record (``append.lua`` says how small) together with the place before it.
Whoever stands exactly there may take it for a page that was read at the moment of the append: that saves a live record
the way to the server and back. The page says that there is more, so that a real look always follows, which tells of a
seal and of whatever was missed. Whether a place holds is never answered from here. Nothing outlasts the watch's next
wait: a record that nobody came for soon may be trimmed, or of a topic that is gone, by the time somebody does.
"""

from collections.abc import Collection

from tailrace.spi import Boundary, Page, ReadRequest, StoredRecord

KEPT = 16
"""Records of one topic, at most, that are kept until it is read."""

_HEADER = 5


class Chain:
    """Records of one topic that follow one another without a gap."""

    __slots__ = ("after", "end", "records")

    def __init__(self, after: Boundary) -> None:
        self.after = self.end = after
        self.records: list[StoredRecord] = []


class News:
    """What hints told. Noted by the watch's thread, taken by any."""

    def __init__(self) -> None:
        self._chains: dict[str, Chain] = {}

    def note(self, topic: str, message: bytes) -> None:
        """Keep what a hint carries; one that carries nothing says that what is kept may be no longer so."""
        # Out of the table while it changes: whoever takes it meanwhile takes nothing.
        chain = self._chains.pop(topic, None)
        parts = message.split(b" ", _HEADER)
        if len(parts) <= _HEADER:
            return
        try:
            incarnation, last, last_low, sequence, low = map(int, parts[:_HEADER])
        except ValueError:
            # Not one of ours. It is a hint all the same.
            return
        before = Boundary(incarnation, last, last_low & 0xFFFFFFFF)
        here = Boundary(incarnation, sequence, low & 0xFFFFFFFF)
        if chain is None or chain.end != before or len(chain.records) >= KEPT:
            chain = Chain(before)
        chain.records.append(StoredRecord(here.position, here.tag, parts[_HEADER]))
        chain.end = here
        self._chains[topic] = chain

    def forget(self, topics: Collection[str]) -> None:
        """Drop what is kept of topics that nobody follows any more, or that are looked at."""
        for topic in topics:
            self._chains.pop(topic, None)

    def clear(self) -> None:
        """Drop everything: from now on nobody would hear that it is no longer so."""
        self._chains.clear()

    def take(self, request: ReadRequest) -> Page | None:
        """Return the page that follows exactly this place, once; ``None`` if there is none, or it does not fit."""
        chain = self._chains.get(request.topic)
        if chain is None or chain.after != request.after or not request.max_records:
            return None
        chain = self._chains.pop(request.topic, None)
        if chain is None or chain.after != request.after:
            return None
        records = chain.records
        if len(records) > request.max_records or (
            len(records) > 1 and sum(len(record.payload) for record in records) > request.max_bytes
        ):
            return None
        return Page(records, chain.end, more=True)
