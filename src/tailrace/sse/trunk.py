"""What the live readers of one topic share: one subscription, each event encoded once, each write joined once.

A reader comes here once it has caught up by itself, and goes back to that when it falls too far behind: the trunk
keeps a second's worth of batches, never what the slowest reader needs.
"""

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Protocol

from tailrace import aio
from tailrace.arguments import FOREVER
from tailrace.errors import CursorUnavailableError, DurableStreamError
from tailrace.records import Closed, DurableStreamRecord, TopicCursor
from tailrace.sse.frames import Frames

logger = logging.getLogger("tailrace.sse")

KEPT_BYTES = 2**20
"""Bytes of batches that one trunk keeps for readers who are about to take them."""

KEPT_BYTES_IN_ALL = 64 * 2**20
"""The same, of all trunks together."""

KEPT_SECONDS = 10.0
"""Seconds that a batch is kept: a reader whose connection takes nothing for longer goes back to the store.

Ample: where the event loop itself is late, all readers are, and if all went to the store it would be later still.
"""

BATCH_BYTES = 256 * 1024
"""Bytes after which a write is not joined with more."""


class Sleeper(Protocol):
    """A reader that waits for the next batch."""

    def wake(self) -> None:
        """Look again."""


class Batch(NamedTuple):
    """Events that go out in one write.

    Attributes:
        body: Their bytes.
        starts: Where each begins in it.
        last: The cursor of the last one.
        at: When it was made, on the loop's clock.
    """

    body: bytes
    starts: tuple[int, ...]
    last: TopicCursor
    at: float


class Place(NamedTuple):
    """Where a reader is in a trunk: the next batch to take, and the first event of it."""

    batch: int
    event: int


class Taken(NamedTuple):
    """What a reader writes next, and where it is then."""

    body: bytes
    place: Place
    cursor: TopicCursor


class Ending(NamedTuple):
    """How streams of a topic end by themselves: their last event, or ``None`` if they are to come back later."""

    body: bytes | None


@dataclass(slots=True)
class Shelf:
    """How much all trunks of a loop keep together."""

    size: int = 0


class FellBehind:
    """The batches at a place are no longer kept."""


class Trunk:
    """The live events of one topic for readers of one audience and tenant. Of one event loop.

    Args:
        frames: Makes the events.
        shelf: Counts what is kept.
        gather: Seconds in which events share one write.
        subscription: Has delivered everything up to ``cursor``; the trunk's from now on.
        cursor: Where the trunk begins.
    """

    def __init__(
        self, frames: Frames, shelf: Shelf, gather: float, subscription: aio.Subscription, cursor: TopicCursor
    ) -> None:
        self._frames = frames
        self._shelf = shelf
        self._gather = gather
        self._batches: deque[Batch] = deque()
        self._first = 0
        self._kept_bytes = 0
        self._places: dict[TopicCursor, Place] = {}
        self._head = cursor
        self._ending: Ending | None = None
        self._sleepers: set[Sleeper] = set()
        self._subscription = subscription
        self._pruning: asyncio.TimerHandle | None = None
        self._task = asyncio.get_running_loop().create_task(self._follow())

    @property
    def live(self) -> bool:
        """Whether it still follows the topic; never again once it does not."""
        return self._ending is None

    @property
    def next(self) -> Place:
        """The place after everything so far."""
        return Place(self._first + len(self._batches), 0)

    def join(self, cursor: TopicCursor) -> Place | None:
        """Return the place after a cursor; ``None`` if the trunk is not there (yet, or any more)."""
        # Texts of one place are equal, so no position has to be known here.
        return self.next if cursor == self._head else self._places.get(cursor)

    def take(self, place: Place) -> Taken | Ending | FellBehind | None:
        """Return what follows a place; ``None`` if nothing does yet."""
        at = place.batch - self._first
        if at < 0:
            return FellBehind()
        if at >= len(self._batches):
            return self._ending
        batch = self._batches[at]
        body = batch.body[batch.starts[place.event] :] if place.event else batch.body
        if at + 1 < len(self._batches) and len(body) < BATCH_BYTES:
            parts, size = [body], len(body)
            for batch in list(self._batches)[at + 1 :]:
                parts.append(batch.body)
                size += len(batch.body)
                at += 1
                if size >= BATCH_BYTES:
                    break
            body = b"".join(parts)
        return Taken(body, Place(self._first + at + 1, 0), batch.last)

    def sleep(self, sleeper: Sleeper) -> None:
        """Have a reader woken by the next batch, once."""
        self._sleepers.add(sleeper)

    def rouse(self, sleeper: Sleeper) -> None:
        """Forget a reader that no longer sleeps."""
        self._sleepers.discard(sleeper)

    def close(self) -> None:
        """Stop following: nobody reads any more."""
        self._subscription.close()

    async def _follow(self) -> None:
        # Whatever ends this task, nobody may wait for it for ever.
        ending = Ending(None)
        try:
            ending = await self._gathered()
        except CursorUnavailableError as error:
            ending = Ending(self._frames.gap(self._head, str(error)))
        except DurableStreamError:
            pass
        except Exception:
            logger.exception("live readers were sent away by an error that should not have been")
        finally:
            self._subscription.close()
            self._ending = ending
            if self._pruning is not None:
                self._pruning.cancel()
            self._shelf.size -= self._kept_bytes
            self._kept_bytes = 0
            self._wake_all()

    async def _gathered(self) -> Ending:
        """Turn records into batches until there are no more."""
        subscription = self._subscription
        loop = asyncio.get_running_loop()
        flushed = 0.0
        while True:
            got = await subscription.receive(FOREVER)
            # One that comes after silence goes out at once; the others wait for each other.
            wait = flushed + self._gather - loop.time()
            if wait > 0 and isinstance(got, DurableStreamRecord):
                await asyncio.sleep(wait)
            records: list[DurableStreamRecord] = []
            size = 0
            try:
                while isinstance(got, DurableStreamRecord):
                    records.append(got)
                    size += len(got.payload)
                    got = await subscription.receive(0) if size < BATCH_BYTES else None
            finally:
                # What was received before the subscription failed is not lost: only what comes after it is.
                if records:
                    self._put(records)
                    flushed = loop.time()
            if isinstance(got, Closed):
                return Ending(self._frames.ending(subscription))

    def _put(self, records: list[DurableStreamRecord]) -> None:
        """Add a batch, forget the oldest ones, and wake everybody."""
        number = self._first + len(self._batches)
        frames, starts, start = [], [], 0
        for index, record in enumerate(records, 1):
            frame = self._frames.event(record)
            frames.append(frame)
            starts.append(start)
            start += len(frame)
            self._places[record.cursor] = Place(number, index)
        loop = asyncio.get_running_loop()
        last = self._head = records[-1].cursor
        # After the last event of a batch comes the first one of the next.
        self._places[last] = Place(number + 1, 0)
        self._batches.append(Batch(b"".join(frames), tuple(starts), last, loop.time()))
        self._kept_bytes += start
        self._shelf.size += start
        while len(self._batches) > 1 and (self._kept_bytes > KEPT_BYTES or self._shelf.size > KEPT_BYTES_IN_ALL):
            self._drop_oldest()
        if self._pruning is None:
            self._pruning = loop.call_later(KEPT_SECONDS, self._prune)
        self._wake_all()

    def _wake_all(self) -> None:
        sleepers, self._sleepers = self._sleepers, set()
        for sleeper in sleepers:
            sleeper.wake()

    def _prune(self) -> None:
        """Forget batches that nobody took in time."""
        loop = asyncio.get_running_loop()
        old = loop.time() - KEPT_SECONDS
        while self._batches and self._batches[0].at <= old:
            self._drop_oldest()
        self._pruning = loop.call_later(KEPT_SECONDS / 2, self._prune) if self._batches else None

    def _drop_oldest(self) -> None:
        dropped = self._batches.popleft()
        self._first += 1
        self._kept_bytes -= len(dropped.body)
        self._shelf.size -= len(dropped.body)
        for cursor in list(islice(self._places, len(dropped.starts))):
            del self._places[cursor]
