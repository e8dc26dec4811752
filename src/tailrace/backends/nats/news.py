"""What a hint of NATS carries: the server repeats each stored message, and that names the record before it."""

from typing_extensions import override

from tailrace.backends import news
from tailrace.backends.nats.frames import Kind, position
from tailrace.backends.nats.stored import Stored
from tailrace.spi import Boundary, StoredRecord

KEPT = 64
"""Records of one topic, at most, that are kept until it is read."""

LARGEST = 65536
"""Bytes of a message that is kept; what is larger is worth another look."""


class News(news.News):
    """What hints told. Noted by the loop's thread, taken by any."""

    @override
    def __init__(self) -> None:
        super().__init__(KEPT)

    def note(self, topic: str, message: Stored) -> None:
        """Keep what a hint carries; one that carries nothing says that what is kept may be no longer so."""
        frame = message.frame
        count = len(frame.lengths)
        if frame.kind is not Kind.RECORDS or frame.state.seal is not None or count > KEPT or len(frame.data) > LARGEST:
            self.forget([topic])
            return
        before, base = frame.state.tail, position(message.sequence, 0)
        records = [StoredRecord(base + at, frame.tag, payload) for at, payload in enumerate(frame.payloads())]
        self.keep(topic, before, records, Boundary(before.incarnation, base + count - 1, frame.tag))
