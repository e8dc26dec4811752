"""What the live readers of one topic share: one subscription, each event encoded once, each write joined once.

A reader comes here once it has caught up by itself, and goes back to that when it falls too far behind: the trunk
keeps batches for some seconds, never what the slowest reader needs.
"""

import asyncio
import logging
from typing import NamedTuple

from tailrace import aio
from tailrace.arguments import FOREVER
from tailrace.errors import CursorUnavailableError, DurableStreamError
from tailrace.records import Closed, DurableStreamRecord, TopicCursor
from tailrace.sse.batches import BATCH_BYTES, Batches, FellBehind, Place, Shelf, Taken
from tailrace.sse.frames import Frames
from tailrace.sse.rounds import Line, Rounds, Sleeper

logger = logging.getLogger("tailrace.sse")

KEPT_SECONDS = 10.0
"""Seconds that a batch is kept: a reader whose connection takes nothing for longer goes back to the store.

Ample: where the event loop itself is late, all readers are, and if all went to the store it would be later still.
"""


class Ending(NamedTuple):
    """How streams of a topic end by themselves: their last event, or ``None`` if they are to come back later."""

    body: bytes | None


class Trunk:
    """The live events of one topic for readers of one audience and tenant. Of one event loop.

    Args:
        frames: Makes the events.
        shelf: Counts what is kept.
        rounds: Of the loop.
        gather: Seconds in which events share one write.
        subscription: Has delivered everything up to ``cursor``; the trunk's from now on.
        cursor: Where the trunk begins.
    """

    def __init__(
        self,
        frames: Frames,
        shelf: Shelf,
        rounds: Rounds,
        gather: float,
        subscription: aio.Subscription,
        cursor: TopicCursor,
    ) -> None:
        self._frames = frames
        self._gather = gather
        self._batches = Batches(shelf, cursor)
        self._ending: Ending | None = None
        self._line = Line(rounds)
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
        return self._batches.next

    def join(self, cursor: TopicCursor) -> Place | None:
        """Return the place after a cursor; ``None`` if the trunk is not there (yet, or any more)."""
        return self._batches.find(cursor)

    def take(self, place: Place) -> Taken | Ending | FellBehind | None:
        """Return what follows a place; ``None`` if nothing does yet."""
        return self._batches.take(place) or self._ending

    def sleep(self, sleeper: Sleeper) -> None:
        """Have a reader woken by the next batch, once."""
        self._line.enter(sleeper)

    def rouse(self, sleeper: Sleeper) -> None:
        """Forget a reader that no longer sleeps."""
        self._line.leave(sleeper)

    def close(self) -> None:
        """Stop following: nobody reads any more."""
        self._subscription.close()

    async def _follow(self) -> None:
        # Whatever ends this task, nobody may wait for it for ever.
        ending = Ending(None)
        try:
            ending = await self._gathered()
        except CursorUnavailableError as error:
            ending = Ending(self._frames.gap(self._batches.head, str(error)))
        except DurableStreamError:
            pass
        except Exception:
            logger.exception("live readers were sent away by an error that should not have been")
        finally:
            self._subscription.close()
            self._ending = ending
            if self._pruning is not None:
                self._pruning.cancel()
            self._batches.release()
            self._line.call()

    async def _gathered(self) -> Ending:
        """Turn records into batches until there are no more."""
        subscription = self._subscription
        loop = asyncio.get_running_loop()
        flushed = 0.0
        while True:
            got = await subscription.receive(FOREVER)
            # One that comes after silence goes out at once; the others wait for each other. Not while readers are busy
            # for longer than that: then it is in passing that they get it, in no more writes.
            busy_since = self._line.busy_since
            wait = (flushed if busy_since is None else min(flushed, busy_since)) + self._gather - loop.time()
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
        """Add a batch, and wake everybody."""
        loop = asyncio.get_running_loop()
        self._batches.put([(record.cursor, self._frames.event(record)) for record in records], loop.time())
        if self._pruning is None:
            self._pruning = loop.call_later(KEPT_SECONDS, self._prune)
        self._line.call()

    def _prune(self) -> None:
        """Forget batches that nobody took in time."""
        loop = asyncio.get_running_loop()
        self._batches.drop_until(loop.time() - KEPT_SECONDS)
        self._pruning = loop.call_later(KEPT_SECONDS / 2, self._prune) if self._batches else None
