"""Appending from code that is run at least once: a task, a step, an activity. No engine is needed for it."""

from collections.abc import Iterable

from tailrace.workflow import bounds
from tailrace.workflow.addressing import reason_of
from tailrace.workflow.emitting import Script
from tailrace.workflow.model import Appended, Stream
from tailrace.workflow.service import Service


class Emitter:
    """The stream commands of one piece of work, under keys that are the same when the work is done again.

    A command's key is made of the identity, the number of the command and the number of the item in it. So a repeated
    attempt has to give the same commands in the same order: the same calls, the same batches, equal payloads. Used by
    one thread, for one attempt; the next attempt makes its own.

    Args:
        service: Where it appends.
        script: Counts the commands.
    """

    def __init__(self, service: Service, script: Script) -> None:
        self._service = service
        self._script = script

    @property
    def identity(self) -> str:
        """Of the piece of work."""
        return self._script.identity

    def append(
        self,
        stream: str,
        payloads: Iterable[object],
        *,
        item_type: str | None = None,
        content_type: str | None = None,
        max_pending_items: int = bounds.MAX_PENDING_ITEMS,
    ) -> Appended:
        """Append JSON values, all or none; those that an earlier attempt has stored get the offsets they have.

        After an error, the same call may be made again: it has the same number, and stores nothing twice.

        Raises:
            IdempotencyConflictError: An earlier attempt has appended something else here: the work is not repeatable.
            StreamClosedError, StreamErroredError: The stream has ended, and an earlier attempt has not stored this.
            StreamFullError: There is no room now.
            RunNotFoundError, StreamNotFoundError: There is no such run; the stream has expired.
            DurableStreamUnavailableError: The store is away.
        """
        script = self._script
        with script.command():
            return self._service.append(
                script.stream(stream),
                script.items(payloads, item_type=item_type, content_type=content_type),
                max_pending_items=max_pending_items,
                lease_seconds=script.lease_seconds,
            )

    def close(self, stream: str, *, retention_seconds: int | None = None) -> Stream:
        """Close a stream; one that has ended stays as it is, so that a repeated attempt goes on.

        Keep it for longer than attempts may follow each other: an append to a stream that has expired is refused.

        Raises:
            RunNotFoundError, StreamNotFoundError: It was never opened, or has expired.
            DurableStreamUnavailableError: The store is away.
        """
        with self._script.command():
            return self._service.end(self._script.stream(stream), retention_seconds=retention_seconds)

    def error(self, stream: str, reason: str, *, retention_seconds: int | None = None) -> Stream:
        """End a stream as errored. For the last attempt only: what follows could append nothing new.

        Raises:
            InvalidFieldsError: The reason has not 1 to 191 characters.
            RunNotFoundError, StreamNotFoundError: It was never opened, or has expired.
            DurableStreamUnavailableError: The store is away.
        """
        with self._script.command():
            return self._service.end(
                self._script.stream(stream),
                error_reason=reason_of(reason),
                retention_seconds=retention_seconds,
            )

    def renew(self, stream: str) -> Stream:
        """Tell that the work goes on, while it appends nothing for long. Takes no number.

        Raises:
            InvalidArgumentError: This emitter has no lease.
            StreamClosedError, StreamErroredError: The stream has ended, perhaps because the lease had lapsed.
            RunNotFoundError, StreamNotFoundError: It was never opened, or has expired.
            DurableStreamUnavailableError: The store is away.
        """
        return self._service.renew(self._script.stream(stream), self._script.lease())

    def __repr__(self) -> str:
        return f"<Emitter {self._script.identity!r}, command {self._script.ordinal}>"
