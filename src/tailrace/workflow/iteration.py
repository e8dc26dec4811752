"""Follow a stream from a thread: pages are asked for, and items come out one by one, until its end."""

import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from typing_extensions import override

from tailrace.errors import DurableStreamError
from tailrace.workflow.cancellation import Cancellation
from tailrace.workflow.course import Course
from tailrace.workflow.items import Item
from tailrace.workflow.model import Stream, StreamRef
from tailrace.workflow.service import Service


class Iteration(Iterator[Item]):
    """The items of a stream, as they come. Used by one thread; ``close`` from any.

    It ends when the stream has ended and all was given, or when it is closed. Delivery is at least once: apply an
    item's effects so that they may happen twice, and then store ``next_offset``.

    Args:
        service: Asked for pages.
        course: Where it starts, and its budgets.
        cancellation: Of the caller's, which ends it too.
    """

    def __init__(self, service: Service, stream: StreamRef, course: Course, cancellation: Cancellation | None) -> None:
        self._service = service
        self._ref = stream
        self._course = course
        # Its own: the caller's may stand for much more than this iteration, which ``close`` must not end.
        self._cancellation = Cancellation()
        self._unwatch = cancellation.watch(self._cancellation.cancel) if cancellation is not None else None

    @property
    def next_offset(self) -> int:
        """The checkpoint: where to go on after the item that was returned last. Right at any time, also after an end
        or an error."""
        return self._course.next_offset

    @property
    def stream(self) -> Stream | None:
        """The stream as the last answer showed it: after the end, how it ended. ``None`` before the first answer."""
        return self._course.stream

    def __iter__(self) -> Self:
        return self

    @override
    def __next__(self) -> Item:
        """Return the next item; block until there is one.

        Raises:
            StopIteration: The stream has ended (``stream.status`` says how), or it was closed.
            RunNotFoundError, StreamNotFoundError: It is not there; beyond ``opening_budget``, if there is one.
            DurableStreamUnavailableError: The store is away, beyond ``outage_budget``. ``next`` would try once more.
        """
        course = self._course
        while not self._cancellation.cancelled:
            item = course.take()
            if item is not None:
                return item
            if course.done:
                break
            self._ask(course)
        self.close()
        raise StopIteration

    def close(self) -> None:
        """End it, also while it waits. Idempotent, never raises, from any thread."""
        self._cancellation.cancel()
        if self._unwatch is not None:
            self._unwatch()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Iteration of {self._ref.name!r} at {self.next_offset}>"

    def _ask(self, course: Course) -> None:
        try:
            page = self._service.subscribe(
                self._ref,
                from_offset=course.next_offset,
                max_items=course.max_items,
                wait_seconds=course.wait_seconds,
                cancellation=self._cancellation,
            )
        except DurableStreamError as exc:
            if self._cancellation.cancelled:
                # It may have failed because of that.
                return
            self._pause(course.failed(exc, time.monotonic()))
        else:
            course.answered(page)

    def _pause(self, until: float) -> None:
        closed = threading.Event()
        unwatch = self._cancellation.watch(closed.set)
        closed.wait(max(0.0, until - time.monotonic()))
        unwatch()
