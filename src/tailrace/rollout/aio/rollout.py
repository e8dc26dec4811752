"""An awaited channel and an awaited store of streams, as one channel whose topics move by a flag."""

from collections.abc import Mapping

from tailrace import arguments
from tailrace.aio import StreamClient
from tailrace.broadcast.aio import Channel
from tailrace.options import positive_seconds
from tailrace.rollout.aio.topic import Topic
from tailrace.rollout.course import Course
from tailrace.rollout.phases import OVERLAP, Flag, Phase, flag_of


class Rollout:
    """May be used from several loops. Owns neither of the two: close them yourself.

    Args:
        channel: Where live messages go.
        streams: Where records go. Not used by topics in the phase ``BROADCAST``.
        phases: As for the blocking one. A callable is asked in the loop and must not block it.
        overlap: As for the blocking one.
    """

    def __init__(
        self, channel: Channel, streams: StreamClient, phases: Mapping[str, Phase] | Flag, *, overlap: float = OVERLAP
    ) -> None:
        positive_seconds("overlap", overlap)
        self._channel = channel
        self._streams = streams
        self._flag = flag_of(phases)
        self._overlap = overlap

    def topic(self, name: str) -> Topic:
        """Return a topic by name. Does no I/O and creates nothing.

        Raises:
            InvalidTopicNameError: No channel could have that name.
        """
        name = arguments.topic_name(name)
        return Topic(Course(name, self._flag, self._channel.topic(name), self._streams.topic(name), self._overlap))
