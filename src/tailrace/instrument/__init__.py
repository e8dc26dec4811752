"""What happens inside a client, as events for a hook. Sinks for logging and Prometheus come with it.

import tailrace
from tailrace.instrument import log_events

streams = tailrace.connect("memory://", hooks=[log_events()])
"""

from tailrace.instrument.events import (
    Event,
    HintsInterrupted,
    HintsRestored,
    OutageBegan,
    OutageEnded,
    RecordsAppended,
    RecordsNotAppended,
    SubscriptionEnded,
    SubscriptionStarted,
)
from tailrace.instrument.hooks import Hook, Hooks
from tailrace.instrument.log import log_events
from tailrace.instrument.prometheus import prometheus_events

__all__ = [
    "Event",
    "HintsInterrupted",
    "HintsRestored",
    "Hook",
    "Hooks",
    "OutageBegan",
    "OutageEnded",
    "RecordsAppended",
    "RecordsNotAppended",
    "SubscriptionEnded",
    "SubscriptionStarted",
    "log_events",
    "prometheus_events",
]
