"""Records that came along with their hints, until the read that the hint leads to.

A hint may carry what was appended, together with the place before it. Whoever stands exactly there may take it for a
page that was read at the moment of the append: that saves a live record the way to the server and back. The page says
that there is more, so that a real look always follows, which tells of a seal and of whatever was missed. Whether a
place holds is never answered from here.
"""

from collections.abc import Collection, Sequence

from tailrace.spi import Boundary, Page, ReadRequest, StoredRecord


class _Chain:
    """Records of one topic that follow one another without a gap."""

    __slots__ = ("after", "end", "records")

    def __init__(self, after: Boundary) -> None:
        self.after = self.end = after
        self.records: list[StoredRecord] = []


class News:
    """What hints told. Noted by one thread, taken by any.

    Args:
        most: Records of one topic that are kept until it is read.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._chains: dict[str, _Chain] = {}

    def keep(self, topic: str, before: Boundary, records: Sequence[StoredRecord], end: Boundary) -> None:
        """Keep what a hint carries, behind what is kept if that ends where this begins."""
        # Out of the table while it changes: whoever takes it meanwhile takes nothing.
        chain = self._chains.pop(topic, None)
        if chain is None or chain.end != before or len(chain.records) + len(records) > self._most:
            chain = _Chain(before)
        chain.records += records
        chain.end = end
        self._chains[topic] = chain

    def forget(self, topics: Collection[str]) -> None:
        """Drop what is kept of topics that nobody follows any more, that are looked at, or of which it may be wrong."""
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
