"""The same live delivery for asyncio, awaited. No logic of its own; no thread waits for a message.

Whoever waits is a future that the channel's one listening thread resolves. What blocks on the server (connecting,
publishing, finding out a place) runs on a few workers of the channel's own.
"""

from tailrace.broadcast.aio.channel import Channel, connect
from tailrace.broadcast.aio.subscription import Subscription
from tailrace.broadcast.aio.topic import Producer, Subscriber, Topic

__all__ = ["Channel", "Producer", "Subscriber", "Subscription", "Topic", "connect"]
