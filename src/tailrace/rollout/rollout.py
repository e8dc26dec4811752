"""A channel and a store of streams, as one channel whose topics move from one to the other by a flag."""

from collections.abc import Mapping

from typing_extensions import override

from tailrace import arguments, broadcast
from tailrace.client import StreamClient
from tailrace.options import positive_seconds
from tailrace.rollout.course import Course
from tailrace.rollout.immediate import ImmediateKeptTopic, ImmediateLiveTopic
from tailrace.rollout.phases import OVERLAP, Flag, Phase, flag_of
from tailrace.rollout.topic import Topic


class Rollout(broadcast.BroadcastChannel):
    """Thread-safe. Owns neither of the two: close them yourself.

    Args:
        channel: Where live messages go.
        streams: Where records go. Not used by topics in the phase ``BROADCAST``.
        phases: Patterns of topic names with the phase of each (the first that matches; ``BROADCAST`` if none does), or
            a callable that is given a name: a feature flag. It may change at any time, one step after the other.
        overlap: Seconds that listeners follow both ways when they are handed over: longer than a producer can take
            from the beginning of an append to the end of its publishing.
    """

    def __init__(
        self,
        channel: broadcast.BroadcastChannel,
        streams: StreamClient,
        phases: Mapping[str, Phase] | Flag,
        *,
        overlap: float = OVERLAP,
    ) -> None:
        positive_seconds("overlap", overlap)
        self._channel = channel
        self._streams = streams
        self._flag = flag_of(phases)
        self._overlap = overlap

    @override
    def topic(self, name: str) -> Topic:
        name = arguments.topic_name(name)
        channel = ImmediateLiveTopic(self._channel.topic(name))
        stream = ImmediateKeptTopic(self._streams.topic(name))
        return Topic(Course(name, self._flag, channel, stream, self._overlap))
