"""What can be done with runs and their streams, awaited: the same operations as ``Service``."""

from collections.abc import Sequence
from typing import Protocol

from tailrace.workflow.bounds import DEFAULT_PAGE_ITEMS, MAX_PENDING_ITEMS
from tailrace.workflow.model import Appended, ItemPage, NewItem, Run, RunInfo, Stream, StreamRef, SweepResult


class AsyncService(Protocol):
    """Operations on runs and their streams. May be used from several loops.

    Each does what ``Service`` says of the operation of that name, and raises what it says. A task that is cancelled
    stops waiting: a write may then have been done, or not; a read has taken nothing away.
    """

    async def list_streams(self, run: Run) -> Sequence[Stream]:
        """Return all streams of a run that have not expired, by name."""
        ...

    async def describe(self, stream: StreamRef) -> Stream:
        """Return what a stream looks like now."""
        ...

    async def subscribe(
        self,
        stream: StreamRef,
        *,
        from_offset: int = 0,
        max_items: int = DEFAULT_PAGE_ITEMS,
        wait_seconds: int = 0,
    ) -> ItemPage:
        """Return items from an offset on, inclusive; wait for the first one if there is none."""
        ...

    async def append(
        self,
        stream: StreamRef,
        items: Sequence[NewItem],
        *,
        max_pending_items: int = MAX_PENDING_ITEMS,
        lease_seconds: int | None = None,
    ) -> Appended:
        """Append items, all or none."""
        ...

    async def end(
        self, stream: StreamRef, *, error_reason: str | None = None, retention_seconds: int | None = None
    ) -> Stream:
        """Close a stream, or end it as errored if there is a reason."""
        ...

    async def renew(self, stream: StreamRef, lease_seconds: int) -> Stream:
        """Tell that the producer is alive."""
        ...

    async def start_run(self, run: Run, *, workflow_type: str | None = None, task_queue: str | None = None) -> RunInfo:
        """Register a run."""
        ...

    async def describe_run(self, run: Run) -> RunInfo:
        """Return what a run looks like."""
        ...

    async def latest_run(self, namespace: str, workflow_id: str) -> RunInfo:
        """Return the run of a workflow that was started last."""
        ...

    async def end_run(self, run: Run) -> RunInfo:
        """Note that a run has ended."""
        ...

    async def delete_run(self, run: Run) -> bool:
        """Remove a run with its streams, items and tombstones; return whether it was there."""
        ...

    async def sweep(self) -> SweepResult:
        """Do one pass of retention."""
        ...

    async def close(self) -> None:
        """Release everything; what waits ends. Idempotent, never raises."""
        ...
