"""Which trunks there are: one for each topic that somebody is streamed, and each way of encoding it."""

from dataclasses import dataclass
from typing import NamedTuple

from tailrace import aio
from tailrace.records import TopicCursor
from tailrace.sse.batches import Place, Shelf
from tailrace.sse.frames import Frames
from tailrace.sse.rounds import Rounds
from tailrace.sse.trunk import Trunk
from tailrace.tokens import Tokens


class Channel(NamedTuple):
    """What readers have in common who may share events.

    Attributes:
        topic: Its name.
        tokens: What seals their tokens; readers of one tenant have the same object.
        text: Whether text goes as it is.
    """

    topic: str
    tokens: Tokens
    text: bool


@dataclass(slots=True)
class _Shared:
    frames: Frames
    readers: int = 0
    trunk: Trunk | None = None


class Trunks:
    """The trunks of one event loop.

    Args:
        gather: Seconds in which events share one write.
    """

    def __init__(self, gather: float) -> None:
        self._gather = gather
        self._shelf = Shelf()
        self._rounds = Rounds()
        self._shared: dict[Channel, _Shared] = {}

    def enter(self, channel: Channel) -> Frames:
        """Count a reader; ``leave`` must follow. Return what makes its events."""
        shared = self._shared.get(channel)
        if shared is None:
            shared = self._shared[channel] = _Shared(Frames(channel.topic, channel.tokens, text=channel.text))
        shared.readers += 1
        return shared.frames

    def leave(self, channel: Channel) -> None:
        """Count a reader no longer. With the last one goes what they shared."""
        shared = self._shared[channel]
        shared.readers -= 1
        if not shared.readers:
            del self._shared[channel]
            if shared.trunk is not None:
                shared.trunk.close()

    def join(self, channel: Channel, cursor: TopicCursor) -> tuple[Trunk, Place] | None:
        """Return the trunk of a channel, and the place in it after a cursor, if it is there."""
        trunk = self._shared[channel].trunk
        place = trunk.join(cursor) if trunk is not None and trunk.live else None
        return None if trunk is None or place is None else (trunk, place)

    def lead(self, channel: Channel, subscription: aio.Subscription, cursor: TopicCursor) -> tuple[Trunk, Place] | None:
        """Make a trunk of a subscription that has caught up; ``None`` if there is one, which is elsewhere just now."""
        shared = self._shared[channel]
        if shared.trunk is not None and shared.trunk.live:
            return None
        # Never the one that ended: who still reads its last batches must not go on with another history.
        trunk = shared.trunk = Trunk(shared.frames, self._shelf, self._rounds, self._gather, subscription, cursor)
        return trunk, trunk.next
