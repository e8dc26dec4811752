"""A listener at the channel or at the stream, as the flag says, who is handed over when the flag changes."""

import threading
import time
from collections import deque
from typing import Self, TypeVar

from typing_extensions import override

from tailrace import arguments, broadcast
from tailrace.errors import DurableStreamError
from tailrace.records import CLOSED, Closed, DurableStreamRecord, TopicCursor
from tailrace.rollout.handover import Handover, ToChannel, ToStream
from tailrace.rollout.ledger import Ledger
from tailrace.rollout.ways import Ways
from tailrace.subscription import Subscription as Kept

S = TypeVar("S", broadcast.Subscription, Kept)

LOOK = 0.25
"""Seconds between two looks at the flag while nothing comes."""


class Subscription(broadcast.Subscription):
    """One independent listener. One-shot; only ``close`` may be called from other threads.

    Args:
        first: What it begins with.
    """

    def __init__(self, ways: Ways, first: broadcast.Subscription | Kept) -> None:
        self._ways = ways
        self._lock = threading.Lock()
        self._closed = False
        self._ready: deque[bytes | DurableStreamRecord] = deque()
        self._source = first
        self._open: list[broadcast.Subscription | Kept] = [first]
        self._handover: Handover | None = None
        self._heard_already, self._until = Ledger(), 0.0
        self._dropped = 0
        self._cursor = None if isinstance(first, broadcast.Subscription) else first.cursor

    @property
    def cursor(self) -> TopicCursor | None:
        """Where to resume after the last event: known while it is at the stream, or on its way there; else ``None``."""
        return self._cursor

    @property
    def at_both(self) -> bool:
        """Whether it follows both ways at the moment."""
        return self._handover is not None

    @property
    @override
    def dropped(self) -> int:
        live = [each.dropped for each in tuple(self._open) if isinstance(each, broadcast.Subscription)]
        return self._dropped + sum(live)

    @override
    def __enter__(self) -> Self:
        self._source.__enter__()
        return self

    @override
    def receive(self, timeout: float = 0.1) -> bytes | Closed | None:
        deadline = time.monotonic() + arguments.timeout_seconds(timeout)
        try:
            while True:
                if self._closed:
                    return CLOSED
                if self._ready:
                    return self._taken(self._ready.popleft())
                left = deadline - time.monotonic()
                answer = self._look(max(0.0, min(left, LOOK)))
                if answer is CLOSED:
                    self.close()
                elif not self._ready and left <= 0:
                    return None
        except (broadcast.BroadcastError, DurableStreamError) as error:
            if self._closed:
                # Closed by another thread while it was on its way to the other one, which can not be entered then.
                return CLOSED
            if isinstance(error, broadcast.BroadcastError):
                self.close()
            raise

    @override
    def close(self) -> None:
        with self._lock:
            self._closed = True
            opened = tuple(self._open)
        for each in opened:
            each.close()

    def _look(self, timeout: float) -> Closed | None:
        """Wait for events and make them ready; ``CLOSED`` if there will be none."""
        handover = self._handover
        if handover is not None:
            self._ready += handover.step(timeout)
            if handover.due:
                self._finish(handover)
            return None
        at_stream = not isinstance(self._source, broadcast.Subscription)
        if self._ways.at_stream() != at_stream:
            self._begin()
            return None
        answer = self._source.receive(timeout)
        if isinstance(answer, Closed):
            return answer
        if answer is not None and not self._repeated(answer):
            self._ready.append(answer)
        return None

    def _begin(self) -> None:
        source, ways = self._source, self._ways
        if isinstance(source, broadcast.Subscription):
            place = self._cursor = ways.kept().cursor
            self._handover = ToStream(source, ways.stream, place, ways.overlap, self._hear_everything)
        else:
            live = self._entered(ways.live())
            # What it has read ahead is read again.
            place = source.cursor
            self._leave(source)
            self._handover = ToChannel(live, ways.stream, place, ways.overlap)

    def _finish(self, handover: Handover) -> None:
        self._ready += handover.end()
        if isinstance(handover, ToChannel):
            self._source = handover.live
            self._heard_already, self._until = handover.ledger, time.monotonic() + self._ways.overlap
        else:
            self._source = self._entered(self._ways.stream.subscribe_from_cursor(handover.place))
            self._leave(handover.live)
            self._dropped += handover.live.dropped
        self._handover = None

    def _leave(self, former: broadcast.Subscription | Kept) -> None:
        with self._lock:
            self._open.remove(former)
        former.close()

    def _entered(self, new: S) -> S:
        with self._lock:
            # Before it is entered, so that whoever closes meanwhile closes it too.
            self._open.append(new)
            closed = self._closed
        if closed:
            new.close()
        new.__enter__()
        return new

    def _hear_everything(self) -> None:
        # Its confirmation comes on the connection of the others, behind what was published before.
        with self._ways.live():
            pass

    def _repeated(self, event: bytes | DurableStreamRecord) -> bool:
        if not isinstance(event, bytes) or not self._heard_already:
            return False
        if time.monotonic() > self._until:
            # Whoever appended that did not live to publish it.
            self._heard_already = Ledger()
            return False
        return self._heard_already.settle(event)

    def _taken(self, event: bytes | DurableStreamRecord) -> bytes:
        if isinstance(event, bytes):
            if isinstance(self._source, broadcast.Subscription) and not isinstance(self._handover, ToStream):
                self._cursor = None
            return event
        self._cursor = event.cursor
        return event.payload
