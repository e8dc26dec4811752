"""What a hint of Redis carries: the script that appends publishes a lone small record with the place before it.

How small, ``append.lua`` says. Nothing outlasts the watch's next wait: a record that nobody came for soon may be
trimmed, or of a topic that is gone, by the time somebody does.
"""

from typing_extensions import override

from tailrace.backends import news
from tailrace.spi import Boundary, StoredRecord

KEPT = 16
"""Records of one topic, at most, that are kept until it is read."""

_HEADER = 5


class News(news.News):
    """What hints told. Noted by the watch's thread, taken by any."""

    @override
    def __init__(self) -> None:
        super().__init__(KEPT)

    def note(self, topic: str, message: bytes) -> None:
        """Keep what a hint carries; one that carries nothing says that what is kept may be no longer so."""
        parts = message.split(b" ", _HEADER)
        try:
            incarnation, last, last_low, sequence, low = map(int, parts[:_HEADER])
            payload = parts[_HEADER]
        except (ValueError, IndexError):
            # It carries nothing, or is not one of ours. It is a hint all the same.
            self.forget([topic])
            return
        before = Boundary(incarnation, last, last_low & 0xFFFFFFFF)
        here = Boundary(incarnation, sequence, low & 0xFFFFFFFF)
        self.keep(topic, before, [StoredRecord(here.position, here.tag, payload)], here)
