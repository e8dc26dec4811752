"""What one reader is written, from a subscription to its end, as a WSGI server pulls it: each time whole events."""

import random
import time
from collections.abc import Iterator

from tailrace.errors import CursorUnavailableError, DurableStreamError
from tailrace.records import CLOSED, Closed, DurableStreamRecord
from tailrace.sse import StreamSettings, wire
from tailrace.sse.frames import Frames
from tailrace.sse.stream import WRITE_BYTES
from tailrace.subscription import Subscription


def writes(frames: Frames, subscription: Subscription, settings: StreamSettings, seconds: float) -> Iterator[bytes]:
    """Yield what is written; wait for it, at most for the time of a heartbeat.

    Args:
        frames: Makes the events.
        subscription: Not entered yet; closed at the end. Closed by somebody else, it has the client come back.
        settings: Bounds and times.
        seconds: For how long it goes on.
    """
    ends = time.monotonic() + seconds
    yield frames.prime(subscription.cursor, settings.retry)
    try:
        with subscription:
            yield from _events(frames, subscription, settings, ends)
            last = frames.ending(subscription)
    except CursorUnavailableError as error:
        last = frames.gap(subscription.cursor, str(error))
    except DurableStreamError:
        last = None
    # Spread: a server that goes down sends all its readers away in one instant, and others have to take them.
    yield frames.prime(subscription.cursor, settings.retry * random.uniform(0.5, 1.5)) if last is None else last


def _events(frames: Frames, subscription: Subscription, settings: StreamSettings, ends: float) -> Iterator[bytes]:
    """Yield events and heartbeats until the subscription, or the stream's time, is over."""
    got: DurableStreamRecord | Closed | None = None
    flushed = 0.0
    while (left := ends - time.monotonic()) > 0:
        if got is None:
            got = subscription.receive(min(settings.heartbeat, left))
        if got is None:
            yield wire.HEARTBEAT
            continue
        if got is CLOSED:
            return
        # One that comes after silence goes out at once; the others wait for each other.
        time.sleep(max(0.0, min(flushed + settings.gather - time.monotonic(), settings.gather)))
        events: list[bytes] = []
        size = 0
        failed: DurableStreamError | None = None
        try:
            while isinstance(got, DurableStreamRecord):
                events.append(frames.made(got))
                size += len(events[-1])
                got = subscription.receive(0) if size < WRITE_BYTES else None
        except DurableStreamError as error:
            # What was received before is not lost: only what comes after it is.
            failed = error
        yield b"".join(events)
        if failed is not None:
            raise failed
        flushed = time.monotonic()
