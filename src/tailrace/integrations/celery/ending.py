"""What becomes of a stream whose block an exception has left: the end of the task says it, and Celery tells us then.

The exception itself does not say it: it may be one of ``autoretry_for``, or the task may call ``retry`` when it has
caught it. Only the state that a task ends with tells whether it will be tried again.
"""

import contextlib
import datetime
import math
import sys
from dataclasses import dataclass
from typing import Any, Protocol

from celery import signals, states
from celery.exceptions import Retry

_STREAMS = "tailrace_streams"


@dataclass(frozen=True, slots=True)
class Failed:
    """The task has failed for good; ``None``: it has succeeded, though an exception left the block."""

    error: BaseException | None


@dataclass(frozen=True, slots=True)
class Continued:
    """Another attempt will begin, as far as is known not before so many seconds."""

    seconds: float


class Unsettled(Protocol):
    """A stream that its task has neither closed nor given up."""

    def settle(self, outcome: Failed | Continued | None) -> None:
        """Do what the end of the task means for it; ``None``: nobody knows what comes next."""
        ...


def outcome_of(state: str | None, result: object) -> Failed | Continued | None:
    """Return what the end of a task means, from the state and the result that Celery reports."""
    match state:
        case states.SUCCESS:
            return Failed(None)
        case states.FAILURE:
            return Failed(result if isinstance(result, BaseException) else None)
        case states.RETRY:
            return Continued(_seconds_until(getattr(result, "when", None)))
        case states.REJECTED if not getattr(result, "requeue", False):
            return Failed(result if isinstance(result, BaseException) else None)
        case states.REJECTED | states.IGNORED:
            # A task that is replaced is ignored, and the other one has its id.
            return Continued(0.0)
        case _:
            return None


def remember(request: Any, stream: Unsettled) -> None:  # noqa: ANN401 - celery's
    """Have a stream settled at the end of the task that this is the request of."""
    request.__dict__.setdefault(_STREAMS, []).append(stream)


def forget(request: Any, stream: Unsettled) -> None:  # noqa: ANN401 - celery's
    """Leave a stream alone at the end. Idempotent."""
    streams = request.__dict__.get(_STREAMS, ())
    if stream in streams:
        streams.remove(stream)


# Connected at import: a tracer may keep the list of receivers that it found when it was built.
@signals.task_postrun.connect  # type: ignore[untyped-decorator]  # has no types
def settle_all(task: Any = None, state: str | None = None, retval: object = None, **_: object) -> None:  # noqa: ANN401
    """Settle what a task has left open."""
    streams = task.request.__dict__.pop(_STREAMS, ())
    if state is None and task.request.is_eager and isinstance(error := sys.exception(), Exception):
        # With ``task_eager_propagates`` it is on its way through here to the caller, and Celery names no state.
        state, retval = (states.RETRY if isinstance(error, Retry) else states.FAILURE), error
    outcome = outcome_of(state, retval)
    # A soft time limit may interrupt one of them; the others would be kept alive by their leases for ever.
    with contextlib.ExitStack() as settling:
        for stream in reversed(streams):
            settling.callback(stream.settle, outcome)


def _seconds_until(when: object) -> float:
    if isinstance(when, int | float) and math.isfinite(when):
        return max(0.0, when)
    if isinstance(when, datetime.datetime):
        now = datetime.datetime.now(when.tzinfo or datetime.UTC)
        # Celery takes a time without a zone for one in UTC.
        aware = when if when.tzinfo else when.replace(tzinfo=datetime.UTC)
        return max(0.0, (aware - now).total_seconds())
    return 0.0
