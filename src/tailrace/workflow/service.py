"""What can be done with runs and their streams: one set of operations, in this process or over HTTP.

The facades for people are ``RunStreams`` (``streams.py``) and its awaited mirror; these are what they stand on.
"""

from collections.abc import Sequence
from typing import Protocol

from tailrace.workflow.bounds import DEFAULT_PAGE_ITEMS, MAX_PENDING_ITEMS
from tailrace.workflow.cancellation import Cancellation
from tailrace.workflow.model import Appended, ItemPage, NewItem, Run, RunInfo, Stream, StreamRef, SweepResult


class Service(Protocol):
    """Operations on runs and their streams. Blocking, thread-safe.

    Besides what each one says, all of them raise ``DurableStreamUnavailableError`` when the store is away (for an
    append with ``maybe_stored``), ``InvalidFieldsError`` and ``InvalidStreamNameError`` for what is out of bounds, and
    ``NamespaceNotFoundError``.
    """

    def list_streams(self, run: Run) -> Sequence[Stream]:
        """Return all streams of a run that have not expired, by name.

        Raises:
            RunNotFoundError: There is no such run.
        """
        ...

    def describe(self, stream: StreamRef) -> Stream:
        """Return what a stream looks like now.

        Raises:
            RunNotFoundError, StreamNotFoundError: It is not there.
        """
        ...

    def subscribe(
        self,
        stream: StreamRef,
        *,
        from_offset: int = 0,
        max_items: int = DEFAULT_PAGE_ITEMS,
        wait_seconds: int = 0,
        cancellation: Cancellation | None = None,
    ) -> ItemPage:
        """Return items from an offset on, inclusive; wait for the first one if there is none.

        Returns early, possibly without items, when nothing will follow any more, or when it is cancelled.

        Raises:
            RunNotFoundError, StreamNotFoundError: It is not there; nobody waits for one to be opened.
        """
        ...

    def append(
        self,
        stream: StreamRef,
        items: Sequence[NewItem],
        *,
        max_pending_items: int = MAX_PENDING_ITEMS,
        lease_seconds: int | None = None,
    ) -> Appended:
        """Append items, all or none; a stream, and where that is allowed a run, is opened by its first ones.

        Args:
            lease_seconds: If nothing is heard of the producer for so long, the stream ends as errored.

        Raises:
            RunNotFoundError, StreamNotFoundError: There is no such run; the stream has expired.
            StreamClosedError, StreamErroredError: It has ended, and not all items are duplicates.
            StreamFullError: There is no room.
            IdempotencyConflictError: A key was used before with another payload.
        """
        ...

    def end(
        self, stream: StreamRef, *, error_reason: str | None = None, retention_seconds: int | None = None
    ) -> Stream:
        """Close a stream, or end it as errored if there is a reason. The first end stands.

        Raises:
            RunNotFoundError, StreamNotFoundError: It is not there.
        """
        ...

    def renew(self, stream: StreamRef, lease_seconds: int) -> Stream:
        """Tell that the producer is alive.

        Raises:
            RunNotFoundError, StreamNotFoundError: It is not there.
            StreamClosedError, StreamErroredError: It has ended.
        """
        ...

    def start_run(self, run: Run, *, workflow_type: str | None = None, task_queue: str | None = None) -> RunInfo:
        """Register a run.

        Raises:
            RunExistsError: It is there already.
        """
        ...

    def describe_run(self, run: Run) -> RunInfo:
        """Return what a run looks like.

        Raises:
            RunNotFoundError: There is no such run.
        """
        ...

    def latest_run(self, namespace: str, workflow_id: str) -> RunInfo:
        """Return the run of a workflow that was started last.

        Raises:
            RunNotFoundError: There is none.
        """
        ...

    def end_run(self, run: Run) -> RunInfo:
        """Note that a run has ended. Its streams stay as they are. Idempotent: the first end stands.

        Raises:
            RunNotFoundError: There is no such run.
        """
        ...

    def delete_run(self, run: Run) -> bool:
        """Remove a run with its streams, items and tombstones; return whether it was there."""
        ...

    def sweep(self) -> SweepResult:
        """Do one pass of retention: expired streams, lost producers, ended runs that are kept no longer."""
        ...

    def close(self) -> None:
        """Release everything; what waits ends. Idempotent, never raises."""
        ...
