"""A topic on its way from the channel to the stream, for threads and greenlets, behind the Protocols of broadcast."""

from typing_extensions import override

from tailrace import arguments, broadcast
from tailrace.records import TopicCursor
from tailrace.rollout.immediate import finish
from tailrace.rollout.subscription import Subscription
from tailrace.rollout.views import Part


class Producer(Part, broadcast.Producer):
    """The sending half of a topic. Thread-safe."""

    @override
    def publish(self, payload: bytes) -> None:
        """Append and publish, as the flag says, in this order.

        Raises:
            DurableStreamUnavailableError: The stream has not, or may not have (``maybe_stored``), taken it; it was not
                published.
            BroadcastUnavailableError: It was not, or may not have been, published; where both are written, it is in
                the stream.
            PayloadTooLargeError: Over the limit of the stream, or of the channel; then too it is in the stream, where
                both are written.
        """
        finish(self._course.publish(arguments.payload_bytes(payload)))


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
        return Subscription(finish(self._course.subscribe(after)))

    @override
    def prepare(self) -> Subscription:
        return Subscription(finish(self._course.prepare()))


class Topic(Producer, Subscriber, broadcast.Topic):
    """A name that events go to and come from, wherever they are at the moment."""

    @override
    def as_producer(self) -> Producer:
        return Producer(self._course)

    @override
    def as_subscriber(self) -> Subscriber:
        return Subscriber(self._course)
