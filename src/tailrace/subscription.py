"""The blocking subscription: a reader, and the waiting of the calling thread."""

import time
from types import TracebackType
from typing import Self

from typing_extensions import override

from tailrace import arguments, native
from tailrace.engine import LOOK_SECONDS, Step
from tailrace.errors import DurableStreamError
from tailrace.facade import SubscriptionFacade
from tailrace.protocols import DurableStreamSubscription
from tailrace.records import Closed, DurableStreamRecord


class Subscription(SubscriptionFacade, DurableStreamSubscription):
    """One independent reader of one topic. One-shot; only ``close`` may be called from other threads."""

    __slots__ = ()

    @override
    def __enter__(self) -> Self:
        reader, waiter = self._reader, self._reader.feed.waiter
        attempt = object()
        try:
            while True:
                generation = waiter.generation
                todo = reader.enter(attempt)
                if todo is None:
                    return self
                if todo is Step.PULL:
                    self._pull()
                else:
                    waiter.wait(generation, arguments.FOREVER)
        except BaseException as exc:
            reader.fail_to_enter(attempt, exc)
            raise

    @override
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.close()

    @override
    def receive(self, timeout: float = 0.1) -> DurableStreamRecord | Closed | None:
        """Wait up to ``timeout`` seconds for the next record; see the contract.

        With a timeout of 0, what the store has by now: that is asked for once, for a second at most.
        """
        try:
            if timeout >= 0:
                record = self._ready.popleft()
                self._reader.last = record
                return record
        except (IndexError, TypeError):
            pass
        except BaseException:
            self._reader.rewind()
            raise
        seconds = arguments.timeout_seconds(timeout)
        try:
            return self._receive(seconds)
        except DurableStreamError:
            raise
        except BaseException:
            # KeyboardInterrupt, a soft time limit: it may have come between taking a record and returning it, or
            # between buffering a page and noting that it was. Whoever goes on receiving must not miss or repeat any.
            self._reader.rewind()
            raise

    def _receive(self, timeout: float) -> DurableStreamRecord | Closed | None:
        reader, waiter = self._reader, self._reader.feed.waiter
        started = time.monotonic()
        deadline = started + timeout
        pulled = reader.claim()
        while True:
            # Asked before the step: a page that comes in between is found by the step, or fires the waiter.
            generation, pulling = waiter.generation, pulled and reader.pulling
            outcome = reader.step()
            if isinstance(outcome, DurableStreamRecord):
                reader.read_ahead(at_once=True)
                reader.last = outcome
                return outcome
            if isinstance(outcome, Closed):
                return outcome
            until = started + LOOK_SECONDS if pulling and not timeout else deadline
            remaining = until - time.monotonic()
            if outcome is Step.PULL and (remaining > 0 or not pulled):
                self._pull()
                pulled = True
            elif remaining <= 0:
                if native.patched():
                    # Whoever only polls, with a timeout of 0, must let the greenlets in that would bring a record.
                    time.sleep(0)
                return None
            else:
                waiter.wait(generation, min(remaining, reader.pause()))

    def _pull(self) -> None:
        reader = self._reader
        if reader.local:
            reader.pull()
        else:
            reader.begin_pull(at_once=True)
