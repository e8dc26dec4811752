"""Every error of Workflow Streams, with its status and reason on the wire: the one table of them.

A store that is away is told by ``DurableStreamUnavailableError``, like everywhere.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from tailrace.errors import DurableStreamError


class WorkflowStreamError(DurableStreamError):
    """Base of what operations on runs and their streams refuse. Nothing was stored, and nothing changed.

    Attributes:
        status: Of HTTP.
        reason: The word of the wire contract.
        details: What else the body of the answer says.
    """

    status: ClassVar[int] = 400
    reason: ClassVar[str] = "invalid_request"

    def __init__(self, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.details: Mapping[str, object] = dict(details or {})

    def __reduce__(self) -> tuple[object, ...]:
        # Errors travel between processes; the constructors of the subclasses differ.
        return _revived, (type(self), str(self), self.details)


def _revived(kind: type[WorkflowStreamError], message: str, details: Mapping[str, object]) -> WorkflowStreamError:
    error = kind.__new__(kind)
    WorkflowStreamError.__init__(error, message, details)
    return error


class RunNotFoundError(WorkflowStreamError):
    """There is no such run in this namespace."""

    status = 404
    reason = "instance_not_found"


class NamespaceNotFoundError(WorkflowStreamError):
    """There is no such namespace."""

    status = 404
    reason = "namespace_not_found"


class StreamNotFoundError(WorkflowStreamError):
    """The stream was never opened, or has expired; if that, it never comes back in this run."""

    status = 404
    reason = "stream_not_found"


class StreamClosedError(WorkflowStreamError):
    """The stream is closed: nothing new can be appended."""

    status = 409
    reason = "stream_closed"


class StreamErroredError(WorkflowStreamError):
    """The stream has ended with an error: nothing new can be appended."""

    status = 409
    reason = "stream_errored"


class IdempotencyConflictError(WorkflowStreamError):
    """A key was used before with another payload."""

    status = 409
    reason = "idempotency_conflict"


class RunExistsError(WorkflowStreamError):
    """A run with this id, or a run of this workflow that goes on, is there already."""

    status = 409
    reason = "instance_already_started"

    @property
    def run_id(self) -> str | None:
        """Of the run that goes on; ``None`` if it is the id itself that is taken."""
        found = self.details.get("workflow_run_id")
        return found if isinstance(found, str) else None


class StreamFullError(WorkflowStreamError):
    """The batch would leave more undelivered items than the cap allows: none of it was stored. Try again later."""

    status = 429
    reason = "stream_full"

    def __init__(self, pending: int, cap: int) -> None:
        super().__init__(
            f"the stream has {pending} undelivered items, and at most {cap} are allowed",
            {"pending_items": pending, "max_pending_items": cap},
        )


class InvalidStreamNameError(WorkflowStreamError):
    """No stream can have that name."""

    reason = "invalid_stream_name"


class TooLargeError(WorkflowStreamError):
    """The request holds more bytes than are taken at once."""

    status = 413
    reason = "payload_too_large"

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"{size} bytes are over the limit of {limit} bytes", {"limit": limit})


class InvalidFieldsError(WorkflowStreamError):
    """Fields of a request are out of their bounds.

    Attributes:
        errors: What is wrong, by field.
    """

    status = 422
    reason = "validation_failed"

    def __init__(self, errors: Mapping[str, Sequence[str]]) -> None:
        field, first = next((field, texts[0]) for field, texts in errors.items())
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__(f"{field}: {first}{more}", {"errors": errors, "validation_errors": errors})

    @property
    def errors(self) -> Mapping[str, Sequence[str]]:
        """What is wrong, by field."""
        found = self.details["errors"]
        assert isinstance(found, Mapping)
        return found
