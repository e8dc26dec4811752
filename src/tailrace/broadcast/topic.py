"""A topic of a channel, for threads and greenlets: check the arguments, hand on to the hub."""

from typing_extensions import override

from tailrace import arguments
from tailrace.broadcast import protocols
from tailrace.broadcast.hub import Hub
from tailrace.broadcast.subscription import Subscription


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
        return f"<broadcast.{type(self).__name__} {self._name!r}>"


class Producer(Part, protocols.Producer):
    """The sending half of a topic. Thread-safe."""

    __slots__ = ()

    @override
    def publish(self, payload: bytes) -> None:
        self._hub.publish(self._name, arguments.payload_bytes(payload))


class Subscriber(Part, protocols.Subscriber):
    """The listening half of a topic. Thread-safe."""

    __slots__ = ()

    @override
    def subscribe(self) -> Subscription:
        return Subscription(self._hub, self._hub.seat(self._name))

    @override
    def prepare(self) -> Subscription:
        return self.subscribe().prepare()


class Topic(Producer, Subscriber, protocols.Topic):
    """A name that messages go to and come from. Cheap to make; holds nothing open."""

    __slots__ = ()

    @override
    def as_producer(self) -> Producer:
        return Producer(self._hub, self._name)

    @override
    def as_subscriber(self) -> Subscriber:
        return Subscriber(self._hub, self._name)
