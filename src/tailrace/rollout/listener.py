"""A listener at the channel or at the stream, as the flag says, who is handed over when the flag changes.

Both colours stand on it: it awaits the ways of a topic, which block where the blocking colour uses it.
"""

import math
import time
from typing import NamedTuple

from tailrace import arguments
from tailrace.broadcast import BroadcastError, BroadcastUnavailableError
from tailrace.errors import DurableStreamError
from tailrace.records import CLOSED, Closed, TopicCursor
from tailrace.rollout.doors import Doors
from tailrace.rollout.handover import Event, Handover, ToChannel, ToStream
from tailrace.rollout.ledger import Ledger
from tailrace.rollout.phases import Flag
from tailrace.rollout.ways import Kept, Live

LOOK = 0.25
"""Seconds between two looks at the flag while nothing comes."""


class Ready:
    """Events that come next, in order; one that was given can be taken back until the next one is asked for."""

    __slots__ = ("events", "given")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.given = 0

    def __len__(self) -> int:
        return len(self.events) - self.given


class Standing(NamedTuple):
    """What a call of ``receive`` found, to go back to."""

    ready: Ready
    given: int
    cursor: TopicCursor | None


class Listener:
    """Used by one thread or task; only ``close`` may be called from others.

    Args:
        name: The topic's name.
        flag: Where listeners are to be.
        overlap: Seconds that both ways are followed.
        doors: The topic's two ways.
        first: What it begins with, not entered.
        cursor: The place of that, if it is in the stream.

    Attributes:
        cursor: Where to resume after the last event: known while it is at the stream, or on its way there.
    """

    def __init__(
        self, name: str, flag: Flag, overlap: float, doors: Doors, *, live: Live | None = None, kept: Kept | None = None
    ) -> None:
        self._name = name
        self._flag = flag
        self._overlap = overlap
        self._doors = doors
        self._live = live
        self._kept = kept
        self._ready = Ready()
        self._handover: Handover | None = None
        self._earlier = Ledger()
        self._broken: BroadcastError | Closed | None = None
        self._entered = False
        self._shaken = False
        self._dropped = 0
        self.cursor = None if kept is None else kept.cursor
        self.stand()
        for first in (live, kept):
            if first is not None:
                doors.hold(first)

    @property
    def at_both(self) -> bool:
        """Whether it follows both ways at the moment."""
        return self._handover is not None

    @property
    def dropped(self) -> int:
        """How many live messages are known to have been dropped."""
        live = self._live
        return self._dropped + (0 if live is None else live.dropped)

    async def enter(self) -> None:
        """Begin to listen."""
        if self._live is not None:
            await self._live.__aenter__()
        elif self._kept is not None:
            await self._kept.__aenter__()
        self._entered = True

    async def receive(self, timeout: float) -> bytes | Closed | None:
        """Wait for the next event; see ``broadcast.Subscription``.

        Cancelled, it loses none; interrupted, none while it waits, and none at the stream anywhere.
        """
        seconds = arguments.timeout_seconds(timeout)
        deadline = time.monotonic() + seconds if seconds < arguments.FOREVER else math.inf
        if not self._entered and not self._doors.closed:
            raise BroadcastUnavailableError("enter the subscription before receiving from it")
        self.stand()
        try:
            while True:
                if self._doors.closed:
                    return CLOSED
                if self._ready:
                    return self._give()
                if isinstance(self._broken, BroadcastError):
                    raise self._broken
                if self._broken is not None:
                    self.close()
                    return CLOSED
                left = deadline - time.monotonic()
                if await self._look(max(0.0, min(left, LOOK))):
                    self.close()
                elif not self._ready and left <= 0:
                    return None
        except (BroadcastError, DurableStreamError) as error:
            if self._doors.closed:
                # Closed by another thread while it was on its way to the other one, which can not be entered then.
                return CLOSED
            if isinstance(error, BroadcastError):
                self.close()
            raise

    def close(self) -> None:
        """End it. Idempotent, never raises, from any thread."""
        self._doors.close()

    def stand(self) -> None:
        """Note where it is before an event is asked for."""
        if self._ready.events and not self._ready:
            # In one step, as an index alone would not say of which list it is.
            self._ready = Ready()
        self._standing = Standing(self._ready, self._ready.given, self.cursor)

    def rewind(self) -> None:
        """Take back what was given since: whoever asked was interrupted, and may not have it."""
        self._standing.ready.given = self._standing.given
        self.cursor = self._standing.cursor
        # What the stream's own subscription has returned may not even have come here.
        self._shaken = True

    async def _look(self, timeout: float) -> bool:
        """Wait for events and make them ready; return whether there will be none."""
        if self._handover is not None:
            await self._follow_both(self._handover, timeout)
            return False
        if self._flag(self._name).reads_stream != (self._kept is not None):
            await self._begin()
            return False
        answer = await self._wait(timeout)
        if isinstance(answer, Closed):
            return True
        if answer is not None and not (isinstance(answer, bytes) and self._earlier.settle(answer)):
            self._ready.events.append(answer)
        return False

    async def _wait(self, timeout: float) -> Event | Closed | None:
        if self._live is not None:
            return await self._live.receive(timeout)
        assert self._kept is not None
        if self._shaken:
            assert self.cursor is not None
            again = await self._doors.kept(self.cursor)
            former, self._kept, self._shaken = self._kept, again, False
            self._doors.leave(former)
        return await self._kept.receive(timeout)

    async def _begin(self) -> None:
        if self._live is not None:
            place = await self._doors.tail()
            # Also for whoever is interrupted after this: on the way there is a place.
            self._standing = self._standing._replace(cursor=place)
            self.cursor = place
            self._handover = ToStream(self._live, self._doors, place, self._overlap, self._earlier)
            return
        assert self._kept is not None
        assert self.cursor is not None
        live = await self._doors.live()
        # From the last event that was given: what the stream's subscription has read ahead is read again.
        handover = ToChannel(live, self._doors, self.cursor, self._overlap)
        # In one step, here and below: interrupted in between, it would be at two places, or at none.
        former, self._kept, self._live, self._handover = self._kept, None, live, handover
        self._doors.leave(former)

    async def _follow_both(self, handover: Handover, timeout: float) -> None:
        ending = handover.due
        self._ready.events += await (handover.end() if ending else handover.step(timeout))
        if handover.behind:
            return
        if handover.broken is not None:
            self._broken, self._live, self._handover = handover.broken, None, None
            self._leave_live(handover.live)
        elif ending:
            await self._finish(handover)

    async def _finish(self, handover: Handover) -> None:
        if isinstance(handover, ToChannel):
            self._earlier = handover.ledger
            self._earlier.until = time.monotonic() + self._overlap
            self._handover = None
            return
        # If this fails, the handover goes on, and ends the next time.
        kept = await self._doors.kept(handover.place)
        self._kept, self._live, self._handover, self._shaken = kept, None, None, False
        self._leave_live(handover.live)

    def _leave_live(self, live: Live) -> None:
        self._dropped += live.dropped
        self._doors.leave(live)

    def _give(self) -> bytes:
        event = self._ready.events[self._ready.given]
        if isinstance(event, bytes):
            if self._live is not None and not isinstance(self._handover, ToStream):
                self.cursor = None
            payload = event
        else:
            self.cursor = event.cursor
            payload = event.payload
        self._ready.given += 1
        return payload
