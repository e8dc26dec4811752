"""A database's runs for coroutines: the long poll has an awaited form of its own, the rest is done by threads."""

import functools
from collections.abc import Sequence

from tailrace.aio.waiting import closed
from tailrace.workflow import bounds
from tailrace.workflow.aio.topics import StreamTopic
from tailrace.workflow.embedded import EmbeddedService
from tailrace.workflow.model import Appended, ItemPage, NewItem, Run, RunInfo, Stream, StreamRef, SweepResult


class AsyncEmbedded:
    """An ``AsyncService`` on a service of this process. May be used from several loops.

    Args:
        service: Closed with this.
    """

    def __init__(self, service: EmbeddedService) -> None:
        self._service = service

    async def list_streams(self, run: Run) -> Sequence[Stream]:
        """See ``AsyncService``."""
        return await self._service.run(lambda: self._service.list_streams(run))

    async def describe(self, stream: StreamRef) -> Stream:
        """See ``AsyncService``."""
        return await self._service.run(lambda: self._service.describe(stream))

    async def subscribe(
        self,
        stream: StreamRef,
        *,
        from_offset: int = 0,
        max_items: int = bounds.DEFAULT_PAGE_ITEMS,
        wait_seconds: int = 0,
    ) -> ItemPage:
        """See ``AsyncService``."""
        return await self._service.subscribe_async(
            stream, from_offset=from_offset, max_items=max_items, wait_seconds=wait_seconds
        )

    async def append(
        self,
        stream: StreamRef,
        items: Sequence[NewItem],
        *,
        max_pending_items: int = bounds.MAX_PENDING_ITEMS,
        lease_seconds: int | None = None,
    ) -> Appended:
        """See ``AsyncService``."""
        append = functools.partial(self._service.append, stream, items)
        return await self._service.run(lambda: append(max_pending_items=max_pending_items, lease_seconds=lease_seconds))

    async def end(
        self, stream: StreamRef, *, error_reason: str | None = None, retention_seconds: int | None = None
    ) -> Stream:
        """See ``AsyncService``."""
        end = functools.partial(self._service.end, stream)
        return await self._service.run(lambda: end(error_reason=error_reason, retention_seconds=retention_seconds))

    async def renew(self, stream: StreamRef, lease_seconds: int) -> Stream:
        """See ``AsyncService``."""
        return await self._service.run(lambda: self._service.renew(stream, lease_seconds))

    async def start_run(self, run: Run, *, workflow_type: str | None = None, task_queue: str | None = None) -> RunInfo:
        """See ``AsyncService``."""
        start = functools.partial(self._service.start_run, run)
        return await self._service.run(lambda: start(workflow_type=workflow_type, task_queue=task_queue))

    async def describe_run(self, run: Run) -> RunInfo:
        """See ``AsyncService``."""
        return await self._service.run(lambda: self._service.describe_run(run))

    async def latest_run(self, namespace: str, workflow_id: str) -> RunInfo:
        """See ``AsyncService``."""
        return await self._service.run(lambda: self._service.latest_run(namespace, workflow_id))

    async def end_run(self, run: Run) -> RunInfo:
        """See ``AsyncService``."""
        return await self._service.run(lambda: self._service.end_run(run))

    async def delete_run(self, run: Run) -> bool:
        """See ``AsyncService``."""
        return await self._service.run(lambda: self._service.delete_run(run))

    async def sweep(self) -> SweepResult:
        """See ``AsyncService``."""
        return await self._service.run(self._service.sweep)

    def topic(self, stream: StreamRef) -> StreamTopic:
        """Return a stream as a topic. Does no I/O and opens nothing."""
        return StreamTopic(self._service, stream)

    async def close(self) -> None:
        """See ``AsyncService``."""
        await closed(self._service.close)

    def __repr__(self) -> str:
        return f"AsyncEmbedded({self._service!r})"
