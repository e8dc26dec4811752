"""Follow a stream from a coroutine: pages are asked for, and items come out one by one, until its end."""

import asyncio
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from typing_extensions import override

from tailrace.errors import DurableStreamError
from tailrace.workflow.aio.service import AsyncService
from tailrace.workflow.course import Course
from tailrace.workflow.items import Item
from tailrace.workflow.model import Stream, StreamRef


class Iteration(AsyncIterator[Item]):
    """The items of a stream, as they come. Used by one task; ``close`` from any of its loop.

    It ends when the stream has ended and all was given, or when it is closed. Delivery is at least once: apply an
    item's effects so that they may happen twice, and then store ``next_offset``. A task that is cancelled while it
    waits has lost nothing: it, or another one, goes on with the same object.

    Args:
        service: Asked for pages.
        course: Where it starts, and its budgets.
    """

    def __init__(self, service: AsyncService, stream: StreamRef, course: Course) -> None:
        self._service = service
        self._ref = stream
        self._course = course
        self._closed = False
        self._asking: asyncio.Task[None] | None = None

    @property
    def next_offset(self) -> int:
        """The checkpoint: where to go on after the item that was returned last. Right at any time, also after an end
        or an error."""
        return self._course.next_offset

    @property
    def stream(self) -> Stream | None:
        """The stream as the last answer showed it: after the end, how it ended. ``None`` before the first answer."""
        return self._course.stream

    @override
    def __aiter__(self) -> Self:
        return self

    @override
    async def __anext__(self) -> Item:
        """Return the next item; wait until there is one.

        Raises:
            StopAsyncIteration: The stream has ended (``stream.status`` says how), or it was closed.
            RunNotFoundError, StreamNotFoundError: It is not there; beyond ``opening_budget``, if there is one.
            DurableStreamUnavailableError: The store is away, beyond ``outage_budget``. Another call tries once more.
        """
        course = self._course
        while not self._closed:
            # Nothing is awaited between here and the return: what was taken is given.
            item = course.take()
            if item is not None:
                return item
            if course.done:
                break
            await self._interruptible(course)
        self.close()
        raise StopAsyncIteration

    def close(self) -> None:
        """End it, also while another task waits for it. Idempotent, never raises."""
        self._closed = True
        if self._asking is not None:
            self._asking.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<aio.Iteration of {self._ref.name!r} at {self.next_offset}>"

    async def _interruptible(self, course: Course) -> None:
        # A task of its own, which ``close`` can cancel without cancelling whoever waits for it.
        self._asking = asyncio.ensure_future(self._ask(course))
        try:
            await self._asking
        except asyncio.CancelledError:
            waiter = asyncio.current_task()
            if not self._closed or (waiter is not None and waiter.cancelling()):
                raise
        finally:
            self._asking = None

    async def _ask(self, course: Course) -> None:
        try:
            page = await self._service.subscribe(
                self._ref,
                from_offset=course.next_offset,
                max_items=course.max_items,
                wait_seconds=course.wait_seconds,
            )
        except DurableStreamError as exc:
            if self._closed:
                return
            retry_at = course.failed(exc, time.monotonic())
            await asyncio.sleep(max(0.0, retry_at - time.monotonic()))
        else:
            course.answered(page)
