"""A topic that is at the channel, at the stream, or on its way: what is written and read there, for both colours."""

import logging

from tailrace.broadcast import BroadcastUnavailableError
from tailrace.records import TopicCursor
from tailrace.rollout.doors import Doors
from tailrace.rollout.listener import Listener
from tailrace.rollout.phases import Flag
from tailrace.rollout.ways import Kept, KeptTopic, Live, LiveTopic

_log = logging.getLogger("tailrace.rollout")


class Course:
    """Thread-safe.

    Args:
        name: The topic's name.
        flag: Its phase.
        channel: The topic's live messages.
        stream: The topic's records.
        overlap: Seconds that listeners follow both ways when they are handed over.
    """

    def __init__(self, name: str, flag: Flag, channel: LiveTopic, stream: KeptTopic, overlap: float) -> None:
        self.name = name
        self.overlap = overlap
        self.stream = stream
        self._flag = flag
        self._channel = channel

    async def publish(self, payload: bytes) -> None:
        """Append and publish, as the flag says: in this order, which handing over stands on."""
        phase = self._flag(self.name)
        if phase.writes_stream:
            await self.stream.append(payload)
        if not phase.writes_channel:
            return
        try:
            await self._channel.publish(payload)
        except BroadcastUnavailableError as error:
            if not phase.reads_stream:
                raise
            # Nobody who has this phase listens there any more, and a retry would double it in the stream.
            _log.warning("an event of %r is in its stream and was not published: %s", self.name, error)

    async def subscribe(self, after: TopicCursor | None) -> Listener:
        """Return a listener, not entered: at the place that was given, or where listeners are now."""
        if after is not None:
            return self._listener(kept=await self.stream.subscribe_from_cursor(after))
        if self._at_stream():
            return self._listener(kept=await self.stream.subscribe_from_tail())
        return self._listener(live=await self._channel.subscribe())

    async def prepare(self) -> Listener:
        """Return a listener, not entered, who misses nothing from now on."""
        if self._at_stream():
            return self._listener(kept=await self.stream.subscribe_from_tail())
        return self._listener(live=await self._channel.prepare())

    def _at_stream(self) -> bool:
        return self._flag(self.name).reads_stream

    def _listener(self, live: Live | None = None, kept: Kept | None = None) -> Listener:
        doors = Doors(self._channel, self.stream)
        return Listener(self.name, self._flag, self.overlap, doors, live=live, kept=kept)

    def __repr__(self) -> str:
        return f"{self.name!r}, {self._flag(self.name).value}"
