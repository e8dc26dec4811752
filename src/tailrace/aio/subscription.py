"""The awaited subscription: a reader, and the waiting of a coroutine."""

import contextlib
import math
import time
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, cast

from tailrace import arguments
from tailrace.aio.waiting import Alarm
from tailrace.engine import LOOK_SECONDS, Reader, Step
from tailrace.facade import SubscriptionFacade
from tailrace.records import Closed, DurableStreamRecord


class Subscription(SubscriptionFacade):
    """One independent reader of one topic. One-shot; only ``close`` may be called from other tasks or threads.

    ``async with`` it, then ``receive`` or ``async for``, which ends when the subscription does.
    """

    __slots__ = ("__weakref__", "_alarm")
    _colour = "aio."

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self._alarm = Alarm(reader.feed.waiter)

    async def __aenter__(self) -> Self:
        reader, waiter, alarm = self._reader, self._reader.feed.waiter, self._alarm
        attempt = object()
        try:
            while True:
                generation = waiter.generation
                todo = reader.enter(attempt)
                if todo is None:
                    return self
                if todo is Step.PULL:
                    reader.begin_pull()
                    continue
                future = alarm.set(math.inf)
                try:
                    if waiter.generation == generation:
                        await future
                finally:
                    alarm.clear(future)
        except BaseException as exc:
            reader.fail_to_enter(attempt, exc)
            raise

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.close()

    async def receive(self, timeout: float = 0.1) -> DurableStreamRecord | Closed | None:
        """Wait up to ``timeout`` seconds for the next record; see the contract.

        With a timeout of 0, what the store has by now: that is asked for once, for a second at most. Cancelling it
        loses no record: nothing is awaited between taking a record and returning it.
        """
        if type(timeout) is not float or not timeout >= 0:
            timeout = arguments.timeout_seconds(timeout)
        return await self._receive(timeout)

    async def _receive(
        self, timeout: float = arguments.FOREVER, *, iterating: bool = False
    ) -> DurableStreamRecord | Closed | None:
        reader, waiter, alarm = self._reader, self._reader.feed.waiter, self._alarm
        if self._ready:
            # Between the two lines another thread may close the subscription, which empties it.
            with contextlib.suppress(IndexError):
                record = reader.last = self._ready.popleft()
                return record
        # Without a deadline there is no timer: nobody needs ten thousand of them for next year.
        started = time.monotonic()
        deadline = started + timeout if timeout < arguments.FOREVER else math.inf
        pulled = reader.claim()
        while True:
            # Asked before the step: a page that comes in between is found by the step, or fires the waiter.
            generation, pulling = waiter.generation, pulled and reader.pulling
            outcome = reader.step()
            if isinstance(outcome, DurableStreamRecord):
                reader.read_ahead()
                reader.last = outcome
                return outcome
            if isinstance(outcome, Closed):
                if iterating:
                    raise StopAsyncIteration
                return outcome
            until = started + LOOK_SECONDS if pulling and not timeout else deadline
            remaining = until - time.monotonic()
            if outcome is Step.PULL and (remaining > 0 or not pulled):
                reader.begin_pull()
                pulled = True
            elif remaining <= 0:
                return None
            else:
                future = alarm.set(min(remaining, reader.pause()))
                try:
                    if waiter.generation == generation:
                        await future
                finally:
                    alarm.clear(future)

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Coroutine[Any, Any, DurableStreamRecord]:
        # The coroutine that waits, itself: another one around it would be made anew for every record.
        return cast("Coroutine[Any, Any, DurableStreamRecord]", self._receive(iterating=True))
