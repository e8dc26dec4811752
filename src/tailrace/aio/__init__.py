"""The same contract for asyncio: the names of ``tailrace``, awaited. No logic of its own.

A wait is a future that the engine's one pump resolves; calls that block on the store run on the engine's own
bounded workers, never on the loop's default executor. Several loops may use one client.
"""

from tailrace.aio.client import StreamClient, connect
from tailrace.aio.subscription import Subscription
from tailrace.aio.topic import Producer, Topic

__all__ = ["Producer", "StreamClient", "Subscription", "Topic", "connect"]
