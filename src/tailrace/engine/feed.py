"""One subscription's place, buffer and state. Pure: the engine's lock guards it, nothing here waits.

NEW ── enter ──▶ BEHIND ◀──────────────┐ its buffer was full when the pump came
                   │  ▲                │
      pulled a page│  │ more to pull   │
      at the tail  ▼  │                │
                  LIVE ────────────────┘ the pump delivers
any ──▶ ENDED   closed; or the decided end came up and everything before it was taken
"""

import enum
from collections.abc import Sequence

from tailrace.engine.buffer import Buffer
from tailrace.engine.chunk import Chunk
from tailrace.engine.waiter import Waiter
from tailrace.errors import DurableStreamError
from tailrace.records import DurableStreamRecord, StreamEnd
from tailrace.spi import Place


class FeedState(enum.Enum):
    """Where a feed stands; see the drawing above."""

    NEW = enum.auto()
    BEHIND = enum.auto()
    LIVE = enum.auto()
    ENDED = enum.auto()


class Feed:
    """One reader's progress through one topic.

    Attributes:
        place: After everything that was buffered or taken.
        ending: The end that has been decided; it takes effect once the buffer is empty.
        joined: The pump's round in which this feed went live.
    """

    __slots__ = ("buffer", "ending", "joined", "place", "state", "topic", "waiter")

    def __init__(self, topic: str, start: Place, buffer: Buffer) -> None:
        self.topic = topic
        self.place = start
        self.buffer = buffer
        self.state = FeedState.NEW
        self.ending: StreamEnd | None = None
        self.joined = 0
        self.waiter = Waiter()

    def accept(self, chunk: Chunk) -> None:
        """Buffer a chunk that starts at this feed's place."""
        self.buffer.put(chunk)
        self.place = chunk.end
        if chunk.seal is not None and not chunk.more and self.ending is None:
            reason = chunk.seal.error
            self.ending = StreamEnd("sealed") if reason is None else StreamEnd("failed", reason)

    def offer(self, chunk: Chunk) -> bool:
        """Buffer what the pump brings, or fall behind; return whether the reader must be woken."""
        if not self.buffer.fits(chunk):
            self.state = FeedState.BEHIND
            return False
        was_idle = not self.buffer.records
        self.accept(chunk)
        return was_idle and (bool(chunk.records) or self.ending is not None)

    def fail(self, error: DurableStreamError) -> None:
        """Decide the end: what is buffered is still delivered, then ``error`` is raised."""
        if self.ending is None:
            self.ending = StreamEnd("failed", str(error), error)

    def rewind(self, place: Place) -> None:
        """Read again after ``place``, and forget what followed it: its end too, which the store tells again."""
        self.buffer.clear()
        self.place, self.ending, self.state = place, None, FeedState.BEHIND

    def close(self) -> None:
        """End now; nothing buffered is delivered any more, and an end that was only decided does not come up."""
        self.state = FeedState.ENDED
        self.buffer.clear()
        self.ending = StreamEnd("closed")

    def take(self) -> Sequence[DurableStreamRecord]:
        """Take the next records to deliver."""
        return self.buffer.take()
