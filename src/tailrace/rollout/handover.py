"""From the channel to the stream and back, for a listener who goes on listening: every event once.

Producers append first and publish afterwards. So whatever is heard on the channel is in the stream by then, and whoever
has read the stream up to now knows every event that he can hear. For some seconds both are followed; after that,
nothing that was appended before they began can still be on its way to the channel.

Whatever is taken from either way is kept here before anything else is waited for, and handed on in one step: so a
wait may be cancelled, interrupted, or fail anywhere, and the next one goes on from there.
"""

import contextlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator

from typing_extensions import override

from tailrace.broadcast import BroadcastError
from tailrace.records import Closed, DurableStreamRecord, TopicCursor
from tailrace.rollout.doors import Doors
from tailrace.rollout.ledger import Ledger
from tailrace.rollout.ways import Live

TICK = 0.25
"""Seconds between two looks into the stream while nothing is heard: a producer may have died before it published."""

SLOW = 0.5
"""Seconds after which an answer of "nothing there" may mean that the store was too slow to say so."""

PAGE = 1000
"""Records that are read at once, at most, where that many can be told."""

Event = bytes | DurableStreamRecord


class Handover(ABC):
    """Both ways at once. Used by one thread or task.

    Args:
        live: The channel, entered.
        doors: Where records are read.
        place: After which they are.
        overlap: Seconds that both are followed.

    Attributes:
        ledger: What was read and is still to be heard.
        behind: Whether the stream goes on after what was read of it the last time.
        broken: What the channel ended with, if it has: what came before is still returned.
    """

    def __init__(self, live: Live, doors: Doors, place: TopicCursor, overlap: float) -> None:
        self.live = live
        self.place = place
        self.ledger = Ledger()
        self.behind = False
        self.broken: BroadcastError | Closed | None = None
        self._doors = doors
        self._heard: list[bytes] = []
        self._records: list[DurableStreamRecord] = []
        self._until = time.monotonic() + overlap
        self._tick = 0.0

    @property
    def due(self) -> bool:
        """Whether it may end."""
        return time.monotonic() >= self._until

    async def step(self, timeout: float) -> list[Event]:
        """Return the next events, in order; none if nothing comes for ``timeout`` seconds."""
        waits = not (self._heard or self.behind)
        await self._hear(min(timeout, TICK) if waits else 0)
        if waits and not self._heard and not self.broken and time.monotonic() < self._tick:
            return []
        return await self._combine()

    async def end(self) -> list[Event]:
        """Return what is left; the listener goes on at one of the two, unless this is ``behind``."""
        await self._hear(0)
        events = await self._combine()
        return events if self.behind else [*events, *self._take_records()]

    @abstractmethod
    async def _combine(self) -> list[Event]:
        """Return the events that are known to be new, from what was heard and can be read."""

    async def _hear(self, timeout: float) -> None:
        with self._broken_by_errors():
            while not self.broken and (message := await self.live.receive(timeout)) is not None:
                if isinstance(message, Closed):
                    if not self._doors.closed:
                        # The whole channel is closed: whoever went on with it would never wait again.
                        self.broken = message
                    return
                self._heard.append(message)
                timeout = 0

    @contextlib.contextmanager
    def _broken_by_errors(self) -> Iterator[None]:
        try:
            yield
        except BroadcastError as error:
            self.broken = error

    async def _read(self, at_most: float = math.inf) -> bool:
        """Read what the store has by now; return whether that is all, and not all that a slow store could give.

        A subscription that is at the tail would tell what it was told so far, so it is a new one each time.
        """
        self._tick = time.monotonic() + TICK
        self.behind = True
        subscription = await self._doors.kept(self.place)
        try:
            while len(self._records) < at_most:
                asked = time.monotonic()
                record = await subscription.receive(0)
                if not isinstance(record, DurableStreamRecord):
                    self.behind = not isinstance(record, Closed) and time.monotonic() - asked >= SLOW
                    break
                self._records.append(record)
                self.ledger.note(record.payload)
                self.place = record.cursor
        finally:
            self._doors.leave(subscription)
        return not self.behind

    def _take_records(self, count: int | None = None) -> list[DurableStreamRecord]:
        taken = self._records[:count]
        del self._records[:count]
        return taken

    def _take_heard(self) -> list[bytes]:
        heard, self._heard = self._heard, []
        return heard


class ToStream(Handover):
    """What was appended before the stream is followed comes over the channel; everything else comes from the stream.

    Args:
        earlier: What was read the last time that the stream was followed, and is still to be heard.
    """

    def __init__(self, live: Live, doors: Doors, place: TopicCursor, overlap: float, earlier: Ledger) -> None:
        super().__init__(live, doors, place, overlap)
        self._earlier = earlier

    @override
    async def _combine(self) -> list[Event]:
        # After the messages: each of them that is in the stream is in the ledger then.
        if not await self._read():
            return []
        count = len(self._records)
        if count and not self.broken:
            # What a producer published before it appended one of these goes before it.
            known = len(self._heard)
            with self._broken_by_errors():
                await self._doors.hear_everything()
            await self._hear(0)
            # What is read on the side is for the next time: its producers may have published something else before.
            if len(self._heard) > known and not await self._read():
                return []
        old = [message for message in self._take_heard() if not self._repeated(message)]
        return [*old, *self._take_records(count)]

    def _repeated(self, message: bytes) -> bool:
        return self.ledger.settle(message) or self._earlier.settle(message)


class ToChannel(Handover):
    """Until the end everything comes from the stream; the ledger then has what will be heard of it once more."""

    @override
    async def _combine(self) -> list[Event]:
        # Whoever resumes from far back is told page by page; what is heard meanwhile is in one of them.
        if await self._read(PAGE):
            for message in self._take_heard():
                self.ledger.settle(message)
        return [*self._take_records()]
