"""Runs and their streams over HTTP, for threads and greenlets: ``Service``, asked of a server."""

import time
from collections.abc import Sequence
from typing import TypeVar

from tailrace.backends.connections import Connections
from tailrace.backends.http.dialing import Dialing
from tailrace.backends.http.line import BrokenLineError, Line
from tailrace.backends.http.location import Location
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError, StoreUnusableError
from tailrace.forks import renew_in_child
from tailrace.workflow import bounds
from tailrace.workflow.cancellation import Cancellation
from tailrace.workflow.errors import RunNotFoundError
from tailrace.workflow.model import Appended, ItemPage, NewItem, Run, RunInfo, Stream, StreamRef, SweepResult
from tailrace.workflow.remote import requests
from tailrace.workflow.remote.attempts import Attempts
from tailrace.workflow.remote.failures import Failed
from tailrace.workflow.remote.holding import Holding
from tailrace.workflow.remote.reading import MOST_BYTES, SWEEPS_ITSELF, broken, taken, too_long
from tailrace.workflow.remote.requests import Request

T = TypeVar("T")

MOST = 1024
"""Connections at once: every thread that waits for items has one for as long as it waits."""

CANCELLED_SECONDS = 1.0
"""Seconds that a subscribe which was cancelled asks once more, for what there is now."""


class RemoteService:
    """A ``Service`` over HTTP. Thread-safe; a forked child may go on using it and gets its own connections.

    Args:
        location: Which server.
        timeout: Seconds that a call may take, apart from what it waits for items.
    """

    def __init__(self, location: Location, timeout: float) -> None:
        self._name = location.name
        self._prefix = f"{location.prefix}/api"
        self._timeout = timeout
        self._connections: Connections[Line] = Connections(Dialing(location).dial, most=MOST)
        self._closed = False
        renew_in_child(self)

    def list_streams(self, run: Run) -> Sequence[Stream]:
        """See ``Service``."""
        return self._call(requests.list_streams(run))

    def describe(self, stream: StreamRef) -> Stream:
        """See ``Service``."""
        return self._call(requests.describe(stream))

    def subscribe(
        self,
        stream: StreamRef,
        *,
        from_offset: int = 0,
        max_items: int = bounds.DEFAULT_PAGE_ITEMS,
        wait_seconds: int = 0,
        cancellation: Cancellation | None = None,
    ) -> ItemPage:
        """See ``Service``."""
        request = requests.subscribe(stream, from_offset, max_items, wait_seconds)
        if cancellation is None or not wait_seconds:
            return self._call(request)
        try:
            if not cancellation.cancelled:
                return self._call(request, cancellation)
        except DurableStreamUnavailableError:
            if not cancellation.cancelled:
                raise
        at_once = requests.subscribe(stream, from_offset, max_items, 0)
        return self._call(at_once, timeout=min(CANCELLED_SECONDS, self._timeout))

    def append(
        self,
        stream: StreamRef,
        items: Sequence[NewItem],
        *,
        max_pending_items: int = bounds.MAX_PENDING_ITEMS,
        lease_seconds: int | None = None,
    ) -> Appended:
        """See ``Service``. Sent again only if nothing was stored for certain, or if all items have keys."""
        return self._call(requests.append(stream, items, max_pending_items, lease_seconds))

    def end(
        self, stream: StreamRef, *, error_reason: str | None = None, retention_seconds: int | None = None
    ) -> Stream:
        """See ``Service``."""
        return self._call(requests.end(stream, error_reason, retention_seconds))

    def renew(self, stream: StreamRef, lease_seconds: int) -> Stream:
        """See ``Service``."""
        return self._call(requests.renew(stream, lease_seconds))

    def start_run(self, run: Run, *, workflow_type: str | None = None, task_queue: str | None = None) -> RunInfo:
        """See ``Service``."""
        return self._call(requests.start_run(run, workflow_type, task_queue))

    def describe_run(self, run: Run) -> RunInfo:
        """See ``Service``."""
        return self._call(requests.describe_run(run))

    def latest_run(self, namespace: str, workflow_id: str) -> RunInfo:
        """See ``Service``."""
        return self._call(requests.latest_run(namespace, workflow_id))

    def end_run(self, run: Run) -> RunInfo:
        """See ``Service``."""
        return self._call(requests.end_run(run))

    def delete_run(self, run: Run) -> bool:
        """See ``Service``."""
        try:
            return self._call(requests.delete_run(run))
        except RunNotFoundError:
            return False

    def sweep(self) -> SweepResult:
        """Refuse: a server sweeps by itself.

        Raises:
            InvalidArgumentError: Always.
        """
        raise InvalidArgumentError(SWEEPS_ITSELF)

    def close(self) -> None:
        """See ``Service``."""
        self._closed = True
        self._connections.close()

    def after_fork(self) -> None:
        """In a child: let go of what is the parent's, and start afresh."""
        self._connections.forget()

    def __repr__(self) -> str:
        return f"RemoteService({self._name}{', closed' if self._closed else ''})"

    def _call(self, request: Request[T], cancellation: Cancellation | None = None, timeout: float | None = None) -> T:
        attempts = Attempts(request, timeout or self._timeout, time.monotonic())
        while True:
            try:
                status, body = self._once(request, attempts.deadline(time.monotonic()), cancellation)
                return taken(request, status, body, self._name)
            except Failed as failed:
                pause = attempts.after(failed, time.monotonic())
                if cancellation is not None and cancellation.cancelled:
                    raise failed.error from None
            time.sleep(pause)

    def _once(self, request: Request[T], deadline: float, cancellation: Cancellation | None) -> tuple[int, bytes]:
        try:
            slot = self._connections.take(deadline)
        except DurableStreamUnavailableError as exc:
            lasting = self._closed or isinstance(exc, StoreUnusableError)
            raise Failed(exc, sent=False, again=not lasting) from exc
        keep = False
        line = slot.wire
        assert line is not None
        holding = Holding(line)
        forget = cancellation.watch(holding.hang_up) if cancellation is not None else None
        try:
            head = line.ask(request.method, self._prefix + request.path, request.body, deadline, more=request.headers)
            body = bytearray()
            for data in line.body(deadline):
                body += data
                if len(body) > MOST_BYTES:
                    raise too_long(self._name)
            keep = line.clean
            return head.status, bytes(body)
        except BrokenLineError as exc:
            raise broken(self._name, exc, closed=self._closed, sent=exc.sent, timed_out=exc.timed_out) from exc
        finally:
            if forget is not None:
                forget()
            holding.let_go()
            self._connections.give_back(slot, keep=keep)
