"""A topic on its way from the channel to the stream, for coroutines."""

from tailrace import arguments
from tailrace.records import TopicCursor
from tailrace.rollout.aio.subscription import Subscription
from tailrace.rollout.views import Part


class Producer(Part):
    """The sending half of a topic. May be used from several loops and threads."""

    _package = "rollout.aio"

    async def publish(self, payload: bytes) -> None:
        """Append and publish, as the flag says, in this order; see the blocking one for what it raises.

        Cancelled, the event may be in neither, in the stream only, or in both, as after a producer was killed.
        """
        await self._course.publish(arguments.payload_bytes(payload))


class Subscriber(Part):
    """The listening half of a topic. May be used from several loops and threads."""

    _package = "rollout.aio"

    async def subscribe(self, after: TopicCursor | None = None) -> Subscription:
        """Return a subscription; see the blocking one."""
        return Subscription(await self._course.subscribe(after))

    async def prepare(self) -> Subscription:
        """Return a subscription that already misses nothing; see the blocking one."""
        return Subscription(await self._course.prepare())


class Topic(Producer, Subscriber):
    """A name that events go to and come from, wherever they are at the moment."""

    def as_producer(self) -> Producer:
        """Return a view that can only publish."""
        return Producer(self._course)

    def as_subscriber(self) -> Subscriber:
        """Return a view that can only subscribe."""
        return Subscriber(self._course)
