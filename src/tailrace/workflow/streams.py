"""The streams of one run, for threads and greenlets: check the arguments, hand on to the service."""

from collections.abc import Iterable, Sequence

from tailrace.workflow import bounds, opening
from tailrace.workflow.addressing import FOLLOW_SECONDS, OUTAGE_BUDGET, RunFacade, reason_of
from tailrace.workflow.cancellation import Cancellation
from tailrace.workflow.course import Course
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.emitter import Emitter
from tailrace.workflow.emitting import Script
from tailrace.workflow.items import Page, new_items, page_from
from tailrace.workflow.iteration import Iteration
from tailrace.workflow.model import Appended, Run, Stream
from tailrace.workflow.service import Service
from tailrace.workflow.topics import StreamTopic


class RunStreams(RunFacade):
    """The streams of one run. Thread-safe. All calls block on the store.

    Besides what each one says, all of them raise ``DurableStreamUnavailableError`` when the store is away,
    ``RunNotFoundError`` for a run that is not there, and ``InvalidFieldsError`` or ``InvalidStreamNameError`` for what
    is out of bounds.
    """

    def __init__(self, service: Service, run: Run) -> None:
        super().__init__(run)
        self._service = service

    def list(self) -> Sequence[Stream]:
        """Return all streams that have not expired, by name."""
        return self._service.list_streams(self._run)

    def describe(self, name: str) -> Stream:
        """Return what a stream looks like now.

        Raises:
            StreamNotFoundError: It was never opened, or has expired.
        """
        return self._service.describe(self._stream(name))

    def subscribe(
        self,
        name: str,
        *,
        from_offset: int = 0,
        max_items: int = bounds.DEFAULT_PAGE_ITEMS,
        wait_seconds: int = 0,
        cancellation: Cancellation | None = None,
    ) -> Page:
        """Return items from an offset on, inclusive; wait up to ``wait_seconds`` for the first one if there is none.

        Returns early, possibly without items, when nothing will follow any more, or when it is cancelled.

        Args:
            max_items: 1 to 500.
            wait_seconds: 0 to 60, whole ones.
            cancellation: Ends the wait from another thread.

        Raises:
            StreamNotFoundError: It was never opened (nobody waits for that), or has expired.
        """
        page = self._service.subscribe(
            self._stream(name),
            from_offset=from_offset,
            max_items=max_items,
            wait_seconds=wait_seconds,
            cancellation=cancellation,
        )
        return page_from(page)

    def iterate(
        self,
        name: str,
        *,
        from_offset: int = 0,
        max_items: int = bounds.DEFAULT_PAGE_ITEMS,
        wait_seconds: int = FOLLOW_SECONDS,
        outage_budget: float = OUTAGE_BUDGET,
        opening_budget: float = 0.0,
        cancellation: Cancellation | None = None,
    ) -> Iteration:
        """Return an iterator over the items from an offset on, until the stream's end. Does no I/O yet.

        Args:
            max_items, wait_seconds: Of one request.
            outage_budget: Seconds from the first failure for which a store that is away is asked again.
            opening_budget: Seconds for which a stream, or run, that is not there yet is waited for.
            cancellation: Ends the iteration, as its ``close`` does.
        """
        course = Course(from_offset, max_items, wait_seconds, outage_budget, opening_budget)
        return Iteration(self._service, self._stream(name), course, cancellation)

    def append(
        self,
        name: str,
        payloads: Iterable[object],
        *,
        keys: Sequence[str | None] | None = None,
        item_type: str | None = None,
        content_type: str | None = None,
        max_pending_items: int = bounds.MAX_PENDING_ITEMS,
        lease_seconds: int | None = None,
    ) -> Appended:
        """Append 1 to 500 items, all or none; the first ones open the stream.

        Args:
            payloads: JSON values; or ``NewItem`` objects, whose payloads are JSON text that is kept as it is.
            keys: Of the items, which make a retry safe: the first item with a key wins.
            max_pending_items: Refuse all if there would be more undelivered ones than that.
            lease_seconds: If nothing is heard of the producer for so long, the stream ends as errored.

        Raises:
            InvalidTypeError, InvalidArgumentError: A payload is no JSON value.
            StreamNotFoundError: The stream has expired; it never comes back in this run.
            StreamClosedError, StreamErroredError: It has ended, and not all items are duplicates.
            StreamFullError: There is no room; nothing was stored.
            IdempotencyConflictError: A key was used before with another payload; nothing was stored.
            DurableStreamUnavailableError: With ``maybe_stored`` nobody knows; with keys, just append again.
        """
        items = new_items(payloads, keys=keys, item_type=item_type, content_type=content_type)
        return self._service.append(
            self._stream(name), items, max_pending_items=max_pending_items, lease_seconds=lease_seconds
        )

    def close(self, name: str, *, retention_seconds: int | None = None) -> Stream:
        """Close a stream. Idempotent: the first end stands.

        Args:
            retention_seconds: How long it is kept, 1 to 2592000; an hour by default.

        Raises:
            StreamNotFoundError: It was never opened, or has expired.
        """
        return self._service.end(self._stream(name), retention_seconds=retention_seconds)

    def error(self, name: str, reason: str, *, retention_seconds: int | None = None) -> Stream:
        """End a stream as errored. Idempotent: the first end stands.

        Args:
            reason: 1 to 191 characters, which readers see.

        Raises:
            StreamNotFoundError: It was never opened, or has expired.
        """
        ended = reason_of(reason)
        return self._service.end(self._stream(name), error_reason=ended, retention_seconds=retention_seconds)

    def renew(self, name: str, lease_seconds: int) -> Stream:
        """Tell that the producer is alive, and will be heard of again within that time.

        Raises:
            StreamNotFoundError: It was never opened, or has expired.
            StreamClosedError, StreamErroredError: It has ended, perhaps because the lease had lapsed.
        """
        bounds.check_lease(lease_seconds)
        return self._service.renew(self._stream(name), lease_seconds)

    def emitter(self, command_identity: str, *, lease_seconds: int | None = None) -> Emitter:
        """Return what appends for one piece of work that may be done more than once. Does no I/O.

        Args:
            command_identity: The same whenever that piece is done again, and of no other in this run: a task's id.
            lease_seconds: If nothing is heard of it for so long, the streams it appends to end as errored.
        """
        return Emitter(self._service, Script(self._run, command_identity, lease_seconds))

    def topic(self, name: str) -> StreamTopic:
        """Return a stream as a topic: cursors, subscriptions and its seal instead of offsets. Does no I/O.

        Raises:
            InvalidArgumentError: Over HTTP: topics are where the database is.
        """
        return opening.embedded(self._service, EmbeddedService).topic(self._stream(name))
