"""A stream that one attempt at a task writes: begun, kept alive and ended with it. What Celery's users call."""

import contextlib
import logging
import math
import uuid
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Protocol, Self

from tailrace.errors import DurableStreamError, InvalidArgumentError, InvalidTypeError
from tailrace.integrations.celery.ending import Continued, Failed, forget, remember
from tailrace.integrations.celery.errors import SupersededError
from tailrace.integrations.celery.lease import Renewal
from tailrace.integrations.celery.reasons import name_of, reason_text
from tailrace.integrations.celery.writing import Attempts, Numbered, Repeated, Writing
from tailrace.workflow import (
    Appended,
    RunNotFoundError,
    RunStreams,
    Status,
    Stream,
    StreamClosedError,
    StreamErroredError,
    StreamNotFoundError,
)
from tailrace.workflow.bounds import MAX_LEASE_SECONDS, MAX_PENDING_ITEMS, check_end, check_lease

_log = logging.getLogger("tailrace.celery")


class BoundTask(Protocol):
    """``self`` of a task with ``bind=True``."""

    @property
    def request(self) -> Any:  # noqa: ANN401 - celery's
        """Of the attempt that runs."""
        ...


def task_stream(
    task: BoundTask,
    run: RunStreams,
    name: str,
    *,
    attempts: Attempts = "repeat",
    lease_seconds: int = 60,
    queue_seconds: int = 3600,
    retention_seconds: int = 86400,
    reason: Callable[[BaseException], str] = name_of,
    identity: str | None = None,
) -> "TaskStream":
    """Return the stream of a run for this attempt at a task, to be used in a ``with`` block. Does no I/O yet.

    The end of the block closes the stream. If an exception leaves it, the end of the task decides: errored, with a
    reason, when the task has failed for good; left open when it will be tried again.

    Args:
        task: ``self`` of a task with ``bind=True``, while it runs.
        run: ``workflows.run(workflow_id, run_id)``.
        name: Of the stream.
        attempts: What a later attempt does about the items of an earlier one. ``"repeat"``: the same commands with
            equal payloads, of which those that are there are not stored again. ``"restart"``: each attempt begins with
            an item of the type ``attempt``, at which readers start anew. ``"continue"``: it goes on behind ``count``
            items.
        lease_seconds: How long after a worker was killed readers are told ``producer lost``, 1 to 86400.
        queue_seconds: How much later than it is due the next attempt may begin, once Celery has said that there is one;
            a stream waits for a day at most.
        retention_seconds: How long the stream is kept after its end: longer than attempts may lie apart.
        reason: What readers are told of an exception. By default the name of its class, as texts may hold secrets.
        identity: Of the work; by default the task's id.

    Raises:
        InvalidTypeError, InvalidArgumentError, InvalidFieldsError: An argument is wrong.
        InvalidStreamNameError: No stream can have that name.
    """
    return TaskStream(
        task, run, name, attempts, lease_seconds, queue_seconds, retention_seconds, reason=reason, identity=identity
    )


class TaskStream:
    """A stream while one attempt at a task writes it; made by ``task_stream``. Blocks; of the thread of the task.

    Attributes:
        name: Of the stream.
        ended: Whether an earlier attempt has closed the stream: there is nothing left to write.
        count: Items in the stream, when it was last heard of.
    """

    def __init__(
        self,
        task: BoundTask,
        run: RunStreams,
        name: str,
        attempts: Attempts,
        lease_seconds: int,
        queue_seconds: int,
        retention_seconds: int,
        *,
        reason: Callable[[BaseException], str],
        identity: str | None,
    ) -> None:
        request = getattr(task, "request", None)
        if request is None:
            raise InvalidTypeError(f"task must be self of a task with bind=True, not {type(task).__name__}")
        check_lease(lease_seconds)
        check_end(None, retention_seconds)
        if isinstance(queue_seconds, bool) or not isinstance(queue_seconds, int) or queue_seconds < 0:
            raise InvalidArgumentError("queue_seconds must be a whole number of seconds, 0 or more")
        # A function that is called by hand is not called again by anybody.
        who = identity or request.id or uuid.uuid4().hex
        self.name = name
        self.ended = False
        self.count = 0
        self._request = request
        self._run = run
        self._lease_seconds = lease_seconds
        self._queue_seconds = queue_seconds
        self._retention_seconds = retention_seconds
        self._reason = reason
        self._writing = _writing(run, name, who, attempts, lease_seconds, request.retries)
        self._renewal = Renewal(self._renew, lease_seconds / 3)
        self._lost = False
        self._why: BaseException | None = None

    def __enter__(self) -> Self:
        """Look where the stream stands, and keep its lease from now on.

        Raises:
            StreamErroredError: It has ended as errored, perhaps because this attempt came too late. Nothing can follow.
            SupersededError: Another attempt is at it.
            StreamFullError: There is no room for the item that an attempt begins with.
            DurableStreamUnavailableError: The store is away.
        """
        remember(self._request, self)
        try:
            self._begin()
        except BaseException as exc:
            self._leave(exc)
            raise
        return self

    def append(
        self,
        payloads: Iterable[object],
        *,
        item_type: str | None = None,
        content_type: str | None = None,
        max_pending_items: int = MAX_PENDING_ITEMS,
    ) -> Appended:
        """Append 1 to 500 JSON values, all or none. After an error, the same call may be made again.

        After ``DurableStreamUnavailableError`` let nothing else follow: what was to be appended may be stored.

        Raises:
            InvalidArgumentError: It is none; or something else writes to a stream whose attempts do not repeat.
            IdempotencyConflictError: An earlier attempt has appended something else here, and was to be repeated.
            SupersededError: Another attempt has gone on with this stream: let it leave the task.
            StreamClosedError, StreamErroredError: The stream has ended: see ``ended``; or the lease had lapsed.
            StreamFullError: There is no room now; wait, and append the same again.
            DurableStreamUnavailableError: The store is away.
        """
        try:
            appended = self._writing.append(payloads, item_type, content_type, max_pending_items)
        except SupersededError:
            # Also if the task goes on nevertheless.
            self._lost = True
            raise
        self.count = appended.stream.last_offset + 1
        return appended

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the stream; after an exception leave that to the end of the task.

        Raises:
            SupersededError: Another attempt has gone on with the stream, and will end it.
            StreamErroredError: The lease had lapsed, and readers were told that the producer is lost.
            DurableStreamUnavailableError: The store is away, and readers were not told. A retry of the task tells them.
        """
        if exc_value is not None:
            self._leave(exc_value)
            return
        try:
            self._close()
        except BaseException as exc:
            self._leave(exc)
            raise
        forget(self._request, self)

    def settle(self, outcome: Failed | Continued | None) -> None:
        """Do what the end of the task means for a stream that was not closed. Logs what goes wrong."""
        self._renewal.stop()
        if self._lost or outcome is None:
            # Somebody else ends it; or the lease does.
            return
        try:
            if isinstance(outcome, Continued):
                wait = self._lease_seconds + self._queue_seconds + math.ceil(outcome.seconds)
                self._run.renew(self.name, min(wait, MAX_LEASE_SECONDS))
                return
            self._writing.check_ours()
            text = reason_text(self._reason, self._why if outcome.error is None else outcome.error)
            self._run.error(self.name, text, retention_seconds=self._retention_seconds)
        except (StreamClosedError, StreamErroredError, SupersededError):
            return
        except (RunNotFoundError, StreamNotFoundError):
            if isinstance(outcome, Failed):
                _log.warning("a task has failed before it appended anything to %s: its readers are not told", self.name)
        except DurableStreamError as exc:
            _log.error("readers of %s were not told how its task has ended: %s", self.name, exc)

    def _begin(self) -> None:
        try:
            with contextlib.suppress(RunNotFoundError, StreamNotFoundError):
                self._note(self._renew())
            appended = self._writing.begin()
        except StreamClosedError:
            self._note(self._run.describe(self.name))
            self.ended = True
            return
        if appended is not None:
            self.count = appended.stream.last_offset + 1
        self._renewal.start()

    def _note(self, stream: Stream) -> None:
        self.count = stream.last_offset + 1
        self._writing.note(self.count)

    def _close(self) -> None:
        self._renewal.stop()
        if self.ended:
            return
        try:
            self._writing.check_ours()
            ended = self._run.close(self.name, retention_seconds=self._retention_seconds)
        except (RunNotFoundError, StreamNotFoundError):
            if self.count:
                raise
            # Nothing was appended: there is no stream that could be closed.
            return
        if ended.status is Status.ERRORED:
            # The first end stands, and closing what has ended says nothing of it.
            raise StreamErroredError(f"the stream had ended with an error before its task: {ended.error_reason}")

    def _leave(self, exc: BaseException) -> None:
        self._why = exc
        self._lost = self._lost or isinstance(exc, SupersededError)
        if self._request.called_directly:
            # Nobody reports the end of a function that was called by hand.
            forget(self._request, self)
            self.settle(Failed(exc))

    def _renew(self) -> Stream:
        return self._run.renew(self.name, self._lease_seconds)

    def __repr__(self) -> str:
        return f"<TaskStream {self.name!r} of {self._run!r}, {self.count} items>"


def _writing(
    run: RunStreams, name: str, identity: str, attempts: Attempts, lease_seconds: int, retries: int
) -> Writing:
    match attempts:
        case "repeat":
            return Repeated(run, name, identity, lease_seconds)
        case "restart" | "continue":
            restart = attempts == "restart"
            return Numbered(run, name, identity, lease_seconds, retries=retries, restart=restart)
        case _:
            raise InvalidArgumentError('attempts must be "repeat", "restart" or "continue"')
