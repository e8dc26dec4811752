"""What one listener has open at the two ways: whoever closes the listener closes all of it, and so lets him go."""

from typing import TypeVar

from tailrace.records import TopicCursor
from tailrace.rollout.ways import Kept, KeptTopic, Live, LiveTopic, Opened

S = TypeVar("S", Live, Kept)


class Doors:
    """Used by one thread or task; only ``close`` may be called from others, and while one is being opened.

    Without a lock, so that a forked child can close what it inherited: lists are changed in one step of the
    interpreter, and of two threads that each write one thing and then look for the other's at least one finds it.

    Args:
        channel: The topic's live messages.
        stream: The topic's records.

    Attributes:
        closed: Whether nothing will be open any more.
    """

    def __init__(self, channel: LiveTopic, stream: KeptTopic) -> None:
        self._channel = channel
        self._stream = stream
        self._open: list[Opened] = []
        self.closed = False

    def hold(self, opened: Opened) -> None:
        """Note that something is open, or about to be."""
        self._open.append(opened)
        if self.closed:
            opened.close()

    async def live(self) -> Live:
        """Return a new subscription to the channel, entered."""
        return await self._entered(await self._channel.subscribe())

    async def kept(self, place: TopicCursor) -> Kept:
        """Return a new subscription to what is after a place in the stream, entered."""
        return await self._entered(await self._stream.subscribe_from_cursor(place))

    async def tail(self) -> TopicCursor:
        """Return the place of the stream's last record."""
        return await self._stream.checkpoint()

    async def hear_everything(self) -> None:
        """Return once all that was published before this is called has been heard."""
        # Its confirmation comes on the connection of the others, behind what was published before.
        self.leave(await self.live())

    def leave(self, opened: Opened) -> None:
        """Close one."""
        if opened in self._open:
            self._open.remove(opened)
        opened.close()

    def close(self) -> None:
        """Close all. Idempotent, never raises, does not block."""
        self.closed = True
        for opened in tuple(self._open):
            opened.close()

    async def _entered(self, new: S) -> S:
        # Before it is entered, so that whoever closes meanwhile closes it too.
        self.hold(new)
        try:
            await new.__aenter__()
        except BaseException:
            self.leave(new)
            raise
        return new
