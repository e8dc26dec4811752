"""Runs and their streams over HTTP, for coroutines: ``AsyncService``, asked of a server."""

import asyncio
import time
from collections.abc import Sequence
from typing import TypeVar

from tailrace.backends.http.location import Location
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError
from tailrace.workflow import bounds
from tailrace.workflow.errors import RunNotFoundError
from tailrace.workflow.model import Appended, ItemPage, NewItem, Run, RunInfo, Stream, StreamRef, SweepResult
from tailrace.workflow.remote import requests
from tailrace.workflow.remote.attempts import Attempts
from tailrace.workflow.remote.conversation import BrokenConversationError, Conversation, Dial
from tailrace.workflow.remote.failures import Failed
from tailrace.workflow.remote.idle import Idle
from tailrace.workflow.remote.reading import SWEEPS_ITSELF, broken, taken
from tailrace.workflow.remote.requests import Request

T = TypeVar("T")


class AsyncRemoteService:
    """An ``AsyncService`` over HTTP. May be used from several loops; each has connections of its own.

    Args:
        location: Which server.
        timeout: Seconds that a call may take, apart from what it waits for items.
    """

    def __init__(self, location: Location, timeout: float) -> None:
        self._name = location.name
        self._prefix = f"{location.prefix}/api"
        self._timeout = timeout
        self._dial = Dial(location)
        self._idle = Idle()
        self._closed = False

    async def list_streams(self, run: Run) -> Sequence[Stream]:
        """See ``AsyncService``."""
        return await self._call(requests.list_streams(run))

    async def describe(self, stream: StreamRef) -> Stream:
        """See ``AsyncService``."""
        return await self._call(requests.describe(stream))

    async def subscribe(
        self,
        stream: StreamRef,
        *,
        from_offset: int = 0,
        max_items: int = bounds.DEFAULT_PAGE_ITEMS,
        wait_seconds: int = 0,
    ) -> ItemPage:
        """See ``AsyncService``."""
        return await self._call(requests.subscribe(stream, from_offset, max_items, wait_seconds))

    async def append(
        self,
        stream: StreamRef,
        items: Sequence[NewItem],
        *,
        max_pending_items: int = bounds.MAX_PENDING_ITEMS,
        lease_seconds: int | None = None,
    ) -> Appended:
        """See ``AsyncService``. Sent again only if nothing was stored for certain, or if all items have keys."""
        return await self._call(requests.append(stream, items, max_pending_items, lease_seconds))

    async def end(
        self, stream: StreamRef, *, error_reason: str | None = None, retention_seconds: int | None = None
    ) -> Stream:
        """See ``AsyncService``."""
        return await self._call(requests.end(stream, error_reason, retention_seconds))

    async def renew(self, stream: StreamRef, lease_seconds: int) -> Stream:
        """See ``AsyncService``."""
        return await self._call(requests.renew(stream, lease_seconds))

    async def start_run(self, run: Run, *, workflow_type: str | None = None, task_queue: str | None = None) -> RunInfo:
        """See ``AsyncService``."""
        return await self._call(requests.start_run(run, workflow_type, task_queue))

    async def describe_run(self, run: Run) -> RunInfo:
        """See ``AsyncService``."""
        return await self._call(requests.describe_run(run))

    async def latest_run(self, namespace: str, workflow_id: str) -> RunInfo:
        """See ``AsyncService``."""
        return await self._call(requests.latest_run(namespace, workflow_id))

    async def end_run(self, run: Run) -> RunInfo:
        """See ``AsyncService``."""
        return await self._call(requests.end_run(run))

    async def delete_run(self, run: Run) -> bool:
        """See ``AsyncService``."""
        try:
            return await self._call(requests.delete_run(run))
        except RunNotFoundError:
            return False

    async def sweep(self) -> SweepResult:
        """Refuse: a server sweeps by itself.

        Raises:
            InvalidArgumentError: Always.
        """
        raise InvalidArgumentError(SWEEPS_ITSELF)

    async def close(self) -> None:
        """See ``AsyncService``."""
        self._closed = True
        self._idle.close()

    def __repr__(self) -> str:
        return f"AsyncRemoteService({self._name}{', closed' if self._closed else ''})"

    async def _call(self, request: Request[T]) -> T:
        attempts = Attempts(request, self._timeout, time.monotonic())
        while True:
            try:
                status, body = await self._once(request, attempts.deadline(time.monotonic()))
                return taken(request, status, body, self._name)
            except Failed as failed:
                pause = attempts.after(failed, time.monotonic())
            await asyncio.sleep(pause)

    async def _once(self, request: Request[T], deadline: float) -> tuple[int, bytes]:
        sent = False
        try:
            async with asyncio.timeout(max(0.001, deadline - time.monotonic())):
                conversation = await self._conversation()
                # From here on it may be on its way: what is written leaves when it likes.
                sent = True
                return await self._said(conversation, request)
        except TimeoutError as exc:
            said = TimeoutError("it was silent for too long")
            raise broken(self._name, said, closed=self._closed, sent=sent, timed_out=True) from exc
        except BrokenConversationError as exc:
            raise broken(self._name, exc, closed=self._closed, sent=sent, timed_out=False) from exc

    async def _conversation(self) -> Conversation:
        if self._closed:
            raise Failed(DurableStreamUnavailableError("the service is closed"), sent=False, again=False)
        conversation = self._idle.take()
        if conversation is None:
            conversation = await self._dial()
            self._idle.lend(conversation)
        return conversation

    async def _said(self, conversation: Conversation, request: Request[T]) -> tuple[int, bytes]:
        try:
            answer = await conversation.ask(request, self._prefix + request.path, self._name)
        except BaseException:
            # A cancellation too: its answer may still come, and belongs to nobody.
            self._idle.drop(conversation)
            raise
        self._idle.give_back(conversation)
        return answer
