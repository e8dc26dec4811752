"""Records that came along with their hints, until the read that the hint leads to.

The server repeats each stored message for whoever follows its topic, and the message names the record before it.
Whoever stands exactly there may take what it carries for a page that was read at the moment of the append, which saves
a live record the way to the server and back. The page says that there is more, so that a real look always follows,
which tells of a seal and of whatever was missed. Whether a place holds is never answered from here. Noted by the loop's
thread, taken by any.
"""

from collections.abc import Collection

from tailrace.backends.nats.frames import Kind, position
from tailrace.backends.nats.stored import Stored
from tailrace.spi import Boundary, Page, ReadRequest, StoredRecord

KEPT = 64
"""Records of one topic, at most, that are kept until it is read."""

LARGEST = 65536
"""Bytes of a message that is kept; what is larger is worth another look."""


class _Chain:
    """Records of one topic that follow one another without a gap."""

    __slots__ = ("after", "end", "records")

    def __init__(self, after: Boundary) -> None:
        self.after = self.end = after
        self.records: list[StoredRecord] = []


class News:
    """What hints told."""

    def __init__(self) -> None:
        self._chains: dict[str, _Chain] = {}

    def note(self, topic: str, message: Stored) -> None:
        """Keep what a hint carries; one that carries nothing says that what is kept may be no longer so."""
        # Out of the table while it changes: whoever takes it meanwhile takes nothing.
        chain = self._chains.pop(topic, None)
        frame = message.frame
        count = len(frame.lengths)
        if frame.kind is not Kind.RECORDS or frame.state.seal is not None or count > KEPT or len(frame.data) > LARGEST:
            return
        before = frame.state.tail
        if chain is None or chain.end != before or len(chain.records) + count > KEPT:
            chain = _Chain(before)
        base = position(message.sequence, 0)
        for at, payload in enumerate(frame.payloads()):
            chain.records.append(StoredRecord(base + at, frame.tag, payload))
        chain.end = Boundary(before.incarnation, base + count - 1, frame.tag)
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
