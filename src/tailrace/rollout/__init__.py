"""Moving an application from live delivery to durable streams, and back. See ``docs/how-to/rollout.md``."""

from tailrace.rollout.phases import Phase
from tailrace.rollout.rollout import Rollout
from tailrace.rollout.subscription import Subscription
from tailrace.rollout.topic import Producer, Subscriber, Topic

__all__ = ["Phase", "Producer", "Rollout", "Subscriber", "Subscription", "Topic"]
