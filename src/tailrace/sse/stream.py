"""One reader's stream: catch up from the store, then follow what live readers share, and back if it falls behind."""

import asyncio
import enum
import random

from tailrace import aio
from tailrace.asgi import Offer, Send
from tailrace.errors import CursorUnavailableError, DurableStreamError
from tailrace.records import Closed, DurableStreamRecord, TopicCursor
from tailrace.sse import wire
from tailrace.sse.batches import FellBehind, Place, Taken
from tailrace.sse.pulse import Beating, Pulse
from tailrace.sse.rounds import Sleeper
from tailrace.sse.trunk import Ending, Trunk
from tailrace.sse.trunks import Channel, Trunks

WRITE_BYTES = 64 * 1024
"""Bytes of a backlog that go out in one write: about what a connection takes before it makes us wait."""


SPREAD = 0.1
"""Share of a heartbeat's time over which those are spread that follow one event."""


class Stop(enum.Enum):
    """Why a stream ends that could go on."""

    GONE = enum.auto()
    """The client went away: nothing is written any more."""
    LATER = enum.auto()
    """The client is to come back, with the id that it has."""


class EventStream(Sleeper, Beating):
    """Writes one topic's events to one client, from a subscription to its end. Of one task, but for ``stop``.

    Args:
        trunks: What is shared with other streams of the loop.
        channel: What is written, and who may share it.
        topic: To go back to after having fallen behind.
        send: Of ASGI; the response has been started.
        offer: Writes what is live without this stream's task, where the server can.
        pulse: Tells when it is time for a heartbeat.
        retry: Seconds that the client waits before it comes back.
    """

    __slots__ = (
        "_channel", "_cursor", "_due", "_frames", "_loop", "_offer", "_place", "_pulse", "_resting_at", "_retry",
        "_send", "_sleep", "_stop", "_subscription", "_topic", "_trunks", "_written",
    )  # fmt: skip

    def __init__(
        self,
        trunks: Trunks,
        channel: Channel,
        topic: aio.Topic,
        send: Send,
        offer: Offer | None,
        pulse: Pulse,
        *,
        retry: float,
    ) -> None:
        self._trunks = trunks
        self._channel = channel
        self._topic = topic
        self._send = send
        self._offer = offer
        self._pulse = pulse
        self._retry = retry
        self._loop = asyncio.get_running_loop()
        self._stop: Stop | None = None
        self._subscription: aio.Subscription | None = None
        self._sleep: asyncio.Future[None] | None = None
        self._resting_at: Trunk | None = None
        self._place = Place(0, 0)
        self._due = False
        self._written = 0.0

    async def run(self, cursor: TopicCursor, subscription: aio.Subscription | None = None) -> None:
        """Stream until the topic ends, the client is to come back, or it is gone.

        Args:
            cursor: Where the stream starts.
            subscription: One that starts there, if there is one already; not entered yet, and this stream's now.
        """
        self._frames = self._trunks.enter(self._channel)
        self._subscription, self._cursor = subscription, cursor
        self._pulse.enter(self)
        try:
            await self._write(self._frames.prime(self._cursor, self._retry))
            last = await self._deliver()
            if self._stop is not Stop.GONE:
                await self._finish(self._later() if last is None else last)
        finally:
            self._pulse.leave(self)
            self._give_up()
            self._trunks.leave(self._channel)

    def stop(self, why: Stop) -> None:
        """End the stream soon, wherever it waits but in a write. In the loop's thread; the first reason stands."""
        if self._stop is None:
            self._stop = why
        if self._subscription is not None:
            self._subscription.close()
        self.wake()

    def look(self) -> bool:
        """Write what is new, there and then if the connection takes it, or else by the stream's task.

        Returns:
            Whether it rests: it has everything.
        """
        trunk = self._resting_at
        if trunk is None or self._sleep is None or self._sleep.done():
            # It looks by itself.
            return False
        if self._offer is not None:
            taken = trunk.take(self._place)
            while isinstance(taken, Taken) and self._offer(taken.body):
                self._written = self._loop.time()
                self._place, self._cursor = taken.place, taken.cursor
                if taken.is_all and trunk.live:
                    return True
                taken = trunk.take(self._place)
            if taken is None:
                return True
        self._sleep.set_result(None)
        return False

    def beat(self, now: float) -> float:
        """Write a comment if the stream has been silent; see :class:`Beating`."""
        heartbeat = self._pulse.heartbeat
        left = self._written + heartbeat - now
        if left > heartbeat * SPREAD:
            # Who got the last event in one moment is not to get the heartbeat in one, too.
            return left - heartbeat * SPREAD * random.random()
        if self._sleep is None or self._sleep.done():
            # It is in a write, or asks the store: asked again, and not all the time.
            return heartbeat / 16
        if self._offer is not None and self._offer(wire.HEARTBEAT):
            self._written = now
        else:
            self._due = True
            self.wake()
        return heartbeat

    def wake(self) -> None:
        """Make the stream's task look again."""
        if self._sleep is not None and not self._sleep.done():
            self._sleep.set_result(None)

    async def _deliver(self) -> bytes | None:
        """Write events to the end of the topic; return the last one, or ``None`` to have the client come back."""
        try:
            while self._stop is None:
                joined = self._joined() or await self._catch_up()
                ending = joined if isinstance(joined, Ending) else await self._follow(*joined)
                if ending is not None:
                    return ending.body
        except CursorUnavailableError as error:
            return self._frames.gap(self._cursor, str(error))
        except DurableStreamError:
            return None
        return None

    async def _catch_up(self) -> "Ending | tuple[Trunk, Place]":
        """Write what one's own subscription delivers, until the trunk is where it is; close it, or make it the trunk.

        Joined before the next record is written, not after: that one may be in the trunk's hands still, which gathers
        for some milliseconds, and the last one is not any more.
        """
        if self._subscription is None:
            self._subscription = await self._topic.subscribe_from_cursor(self._cursor)
        subscription = self._subscription
        await subscription.__aenter__()
        got = await subscription.receive(0)
        while self._stop is None:
            joined = self._joined()
            if joined is not None:
                return joined
            if isinstance(got, DurableStreamRecord):
                got = await self._write_backlog(subscription, got)
            elif isinstance(got, Closed):
                return Ending(self._frames.ending(subscription))
            else:
                leading = self._trunks.lead(self._channel, subscription, self._cursor)
                if leading is not None:
                    self._subscription = None
                    return leading
                # The trunk is a few milliseconds ahead or behind: the next record tells.
                got = await subscription.receive(self._pulse.heartbeat)
                if got is None:
                    await self._write(wire.HEARTBEAT)
        # Not led with: its subscription has been closed, and would end the stream of whoever joined.
        return Ending(None)

    def _joined(self) -> "tuple[Trunk, Place] | None":
        """Return the trunk and this reader's place in it, if it is there: then it needs nothing from the store."""
        joined = self._trunks.join(self._channel, self._cursor)
        if joined is not None:
            self._give_up()
        return joined

    def _give_up(self) -> None:
        """Close the subscription that is this stream's own, if there is one."""
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    async def _write_backlog(
        self, subscription: aio.Subscription, record: DurableStreamRecord
    ) -> DurableStreamRecord | Closed | None:
        """Write a record and those after it that are there, up to what goes into one write; return what came last."""
        got: DurableStreamRecord | Closed | None = record
        events: list[bytes] = []
        size = 0
        failed: DurableStreamError | None = None
        try:
            while isinstance(got, DurableStreamRecord) and size < WRITE_BYTES:
                events.append(self._frames.event(got))
                size += len(events[-1])
                last = got
                got = await subscription.receive(0)
        except DurableStreamError as error:
            # What was received before is not lost: only what comes after it is.
            failed = error
        await self._write(b"".join(events))
        self._cursor = last.cursor
        if failed is not None:
            raise failed
        return got

    async def _follow(self, trunk: Trunk, place: Place) -> Ending | None:
        """Write what the trunk has; return how it ended, or ``None`` if this reader stopped or fell behind."""
        self._place = place
        while self._stop is None:
            taken = trunk.take(self._place)
            if isinstance(taken, Taken):
                await self._write(taken.body)
                # Not before: who is cut off in a write comes back for all of it.
                self._place, self._cursor = taken.place, taken.cursor
            elif isinstance(taken, Ending):
                return taken
            elif isinstance(taken, FellBehind):
                return None
            else:
                await self._rest(trunk)
        return None

    async def _rest(self, trunk: Trunk) -> None:
        """Wait while there is nothing, or only what ``look`` writes; until a heartbeat is due, or ``stop``."""
        # Set before the trunk knows of it, and nothing was awaited since the last look: no wake-up is missed.
        self._sleep, self._resting_at = self._loop.create_future(), trunk
        trunk.sleep(self)
        try:
            await self._sleep
        finally:
            self._sleep = self._resting_at = None
            trunk.rouse(self)
        if self._due:
            self._due = False
            await self._write(wire.HEARTBEAT)

    def _later(self) -> bytes:
        # Spread: a server that goes down sends all its readers away in one instant, and others have to take them.
        return self._frames.prime(self._cursor, self._retry * random.uniform(0.5, 1.5))

    async def _write(self, body: bytes) -> None:
        """Send whole events. Waits for a client that does not take them."""
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        self._written = self._loop.time()

    async def _finish(self, body: bytes) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": False})
