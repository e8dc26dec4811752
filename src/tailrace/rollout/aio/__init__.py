"""The same way over for asyncio, awaited: from an awaited channel to awaited streams. No rule of its own."""

from tailrace.rollout.aio.rollout import Rollout
from tailrace.rollout.aio.subscription import Subscription
from tailrace.rollout.aio.topic import Producer, Subscriber, Topic

__all__ = ["Producer", "Rollout", "Subscriber", "Subscription", "Topic"]
