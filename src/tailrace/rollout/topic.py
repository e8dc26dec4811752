"""A topic that is at the channel, at the stream, or on its way, behind the Protocols of live delivery."""

import logging

from typing_extensions import override

from tailrace import broadcast
from tailrace.records import TopicCursor
from tailrace.rollout.phases import Flag
from tailrace.rollout.subscription import Subscription
from tailrace.rollout.ways import Ways
from tailrace.subscription import Subscription as Kept
from tailrace.topic import Topic as Stream

_log = logging.getLogger("tailrace.rollout")


class Part(Ways):
    """What all views of a topic have."""

    def __init__(
        self, name: str, flag: Flag, channel: broadcast.BroadcastChannel, stream: Stream, overlap: float
    ) -> None:
        self._name = name
        self._flag = flag
        self._channel = channel
        self.stream = stream
        self.overlap = overlap

    @property
    def name(self) -> str:
        """The topic's name."""
        return self._name

    @override
    def at_stream(self) -> bool:
        return self._flag(self._name).reads_stream

    @override
    def live(self) -> broadcast.Subscription:
        return self._channel.topic(self._name).subscribe()

    @override
    def kept(self) -> Kept:
        return self.stream.subscribe_from_tail()

    def __repr__(self) -> str:
        return f"<rollout.{type(self).__name__} {self._name!r}, {self._flag(self._name).value}>"


class Producer(Part, broadcast.Producer):
    """The sending half of a topic. Thread-safe."""

    @override
    def publish(self, payload: bytes) -> None:
        """Append and publish, as the flag says: in this order, which handing over stands on.

        Raises:
            DurableStreamUnavailableError: The stream has not, or may not have (``maybe_stored``), taken it; it was not
                published.
            BroadcastUnavailableError: It was not, or may not have been, published; where both are written, it is in
                the stream.
        """
        phase = self._flag(self._name)
        if phase.writes_stream:
            self.stream.append(payload)
        if not phase.writes_channel:
            return
        try:
            self._channel.topic(self._name).publish(payload)
        except broadcast.BroadcastUnavailableError as error:
            if not phase.reads_stream:
                raise
            # Nobody who has this phase listens there any more, and a retry would double it in the stream.
            _log.warning("an event of %r is in its stream and was not published: %s", self._name, error)


class Subscriber(Part, broadcast.Subscriber):
    """The listening half of a topic. Thread-safe."""

    @override
    def subscribe(self, after: TopicCursor | None = None) -> Subscription:
        """Return a subscription; enter it to listen.

        Args:
            after: The ``cursor`` of an earlier subscription: what came since is read from the stream, wherever
                listeners are to be now.

        Raises:
            CursorUnavailableError: That place is gone.
            DurableStreamUnavailableError: The stream's store is away.
            BroadcastUnavailableError: The channel is away.
        """
        if after is not None:
            return Subscription(self, self.stream.subscribe_from_cursor(after))
        return Subscription(self, self.kept() if self.at_stream() else self.live())

    @override
    def prepare(self) -> Subscription:
        if self.at_stream():
            return Subscription(self, self.kept())
        return Subscription(self, self._channel.topic(self._name).prepare())


class Topic(Producer, Subscriber, broadcast.Topic):
    """A name that events go to and come from, wherever they are at the moment."""

    @override
    def as_producer(self) -> Producer:
        return Producer(self._name, self._flag, self._channel, self.stream, self.overlap)

    @override
    def as_subscriber(self) -> Subscriber:
        return Subscriber(self._name, self._flag, self._channel, self.stream, self.overlap)
