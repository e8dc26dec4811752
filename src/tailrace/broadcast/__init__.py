"""Live delivery: whoever listens gets what is published from then on. See ``docs/how-to/broadcast.md``."""

from tailrace.broadcast.channel import Channel, connect
from tailrace.broadcast.errors import BroadcastError, BroadcastOverflowError, BroadcastUnavailableError
from tailrace.broadcast.options import ConnectOptions, Overflow
from tailrace.broadcast.protocols import BroadcastChannel, Producer, Subscriber, Subscription, Topic
from tailrace.records import CLOSED, Closed

__all__ = [
    "CLOSED",
    "BroadcastChannel",
    "BroadcastError",
    "BroadcastOverflowError",
    "BroadcastUnavailableError",
    "Channel",
    "Closed",
    "ConnectOptions",
    "Overflow",
    "Producer",
    "Subscriber",
    "Subscription",
    "Topic",
    "connect",
]
