"""A topic of a channel, for coroutines: check the arguments, hand on to the hub."""

import asyncio
import functools

from tailrace import arguments
from tailrace.broadcast.aio.subscription import Subscription
from tailrace.broadcast.hub import Hub


class Part:
    """What all views of a topic have."""

    __slots__ = ("_hub", "_name")

    def __init__(self, hub: Hub, name: str) -> None:
        self._hub = hub
        self._name = name

    @property
    def name(self) -> str:
        """The topic's name."""
        return self._name

    def __repr__(self) -> str:
        return f"<broadcast.aio.{type(self).__name__} {self._name!r}>"


class Producer(Part):
    """The sending half of a topic. May be used from several loops and threads."""

    __slots__ = ()

    async def publish(self, payload: bytes) -> None:
        """Send one message; see the blocking one. Cancelled, it may or may not have been sent."""
        work = functools.partial(self._hub.publish, self._name, arguments.payload_bytes(payload))
        await asyncio.wrap_future(self._hub.workers.run(work))


class Subscriber(Part):
    """The listening half of a topic. May be used from several loops and threads."""

    __slots__ = ()

    async def subscribe(self) -> Subscription:
        """Return a subscription; see the blocking one."""
        seat = await asyncio.wrap_future(self._hub.workers.run(functools.partial(self._hub.seat, self._name)))
        return Subscription(self._hub, seat)

    async def prepare(self) -> Subscription:
        """Return a subscription that already misses nothing; see the blocking one."""
        return await (await self.subscribe()).prepare()


class Topic(Producer, Subscriber):
    """A name that messages go to and come from. Cheap to make; holds nothing open."""

    __slots__ = ()

    def as_producer(self) -> Producer:
        """Return a view that can only publish."""
        return Producer(self._hub, self._name)

    def as_subscriber(self) -> Subscriber:
        """Return a view that can only subscribe."""
        return Subscriber(self._hub, self._name)
