"""Events as Prometheus metrics. The client library is imported when a hook is made, never before."""

from typing import TYPE_CHECKING, Any

from tailrace.errors import InvalidArgumentError
from tailrace.instrument.events import (
    Event,
    HintsInterrupted,
    OutageBegan,
    OutageEnded,
    RecordsAppended,
    RecordsNotAppended,
    SubscriptionEnded,
    SubscriptionStarted,
)
from tailrace.instrument.hooks import Hook

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


def prometheus_events(registry: "CollectorRegistry | None" = None) -> Hook:
    """Return a hook that counts into a registry: the default one unless another is given. Topics are no labels.

    Raises:
        InvalidArgumentError: ``prometheus-client`` is not installed.
    """
    try:
        import prometheus_client as client
    except ModuleNotFoundError as exc:
        message = "metrics need the package prometheus_client: pip install 'tailrace[metrics]'"
        raise InvalidArgumentError(message) from exc
    into: dict[str, Any] = {"registry": registry or client.REGISTRY}
    appended = client.Counter("tailrace_records_appended", "Records acknowledged by the store.", **into)
    refused = client.Counter("tailrace_records_not_appended", "Records refused or unknown.", ["maybe_stored"], **into)
    seconds = client.Histogram("tailrace_append_seconds", "From the call to the acknowledgement.", **into)
    open_now = client.Gauge("tailrace_subscriptions", "Subscriptions that are entered.", **into)
    ended = client.Counter("tailrace_subscriptions_ended", "Subscriptions that ended.", ["kind"], **into)
    away = client.Gauge("tailrace_store_away", "1 while reads fail and are tried again.", **into)
    interrupted = client.Counter("tailrace_hints_interrupted", "Times that change hints were lost.", **into)

    def hook(event: Event, /) -> None:
        match event:
            case RecordsAppended():
                appended.inc(event.records)
                seconds.observe(event.seconds)
            case RecordsNotAppended():
                refused.labels(str(event.maybe_stored).lower()).inc(event.records)
            case SubscriptionStarted():
                open_now.inc()
            case SubscriptionEnded():
                open_now.dec()
                ended.labels(event.end.kind).inc()
            case OutageBegan():
                away.set(1)
            case OutageEnded():
                away.set(0)
            case HintsInterrupted():
                interrupted.inc()
            case _:
                pass

    return hook
