"""Exit codes of what operations on runs refuse. Apart from the others: it imports all of Workflow Streams."""

from tailrace.cli.exits import Code
from tailrace.errors import DurableStreamError
from tailrace.workflow.errors import (
    IdempotencyConflictError,
    NamespaceNotFoundError,
    RunExistsError,
    RunNotFoundError,
    StreamClosedError,
    StreamErroredError,
    StreamFullError,
    StreamNotFoundError,
    WorkflowStreamError,
)
from tailrace.workflow.payloads.errors import PayloadHeldError, PayloadUnavailableError

# First match wins: subclasses stand before their bases.
CODES: tuple[tuple[type[DurableStreamError], Code], ...] = (
    (RunNotFoundError, Code.NO_SUCH_TOPIC),
    (NamespaceNotFoundError, Code.NO_SUCH_TOPIC),
    (StreamNotFoundError, Code.NO_SUCH_TOPIC),
    (StreamClosedError, Code.TOPIC_SEALED),
    (StreamErroredError, Code.TOPIC_SEALED),
    (StreamFullError, Code.STREAM_FULL),
    (IdempotencyConflictError, Code.CONFLICT),
    (RunExistsError, Code.CONFLICT),
    (PayloadUnavailableError, Code.STORE_UNAVAILABLE),
    (PayloadHeldError, Code.STORE_UNAVAILABLE),
    # Whatever else an operation on runs refuses lies in what it was asked.
    (WorkflowStreamError, Code.USAGE),
)
