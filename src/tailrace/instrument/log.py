"""Events as log lines."""

import logging

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
from tailrace.instrument.hooks import Hook


def log_events(name: str = "tailrace.events") -> Hook:
    """Return a hook that logs: what is wrong as warnings, the rest as debug.

    Args:
        name: Of the logger.
    """
    logger = logging.getLogger(name)

    def hook(event: Event, /) -> None:
        match event:
            case RecordsAppended():
                logger.debug("appended %d records to %r in %.6f s", event.records, event.topic, event.seconds)
            case RecordsNotAppended():
                outcome = "may not have been" if event.maybe_stored else "were not"
                logger.warning("%d records of %r %s stored: %s", event.records, event.topic, outcome, event.reason)
            case SubscriptionStarted():
                logger.debug("subscribed to %r", event.topic)
            case SubscriptionEnded():
                level = logging.DEBUG if event.end.exception is None else logging.WARNING
                logger.log(level, "subscription of %r ended: %s", event.topic, event.end.error or event.end.kind)
            case OutageBegan():
                logger.warning("the store is away: %s", event.reason)
            case OutageEnded():
                logger.warning("the store is back after %.1f s", event.seconds)
            case HintsInterrupted():
                logger.warning("change hints are interrupted, polling: %s", event.reason)
            case HintsRestored():
                logger.debug("change hints arrive")

    return hook
