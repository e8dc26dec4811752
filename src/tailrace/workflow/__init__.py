"""Workflow Streams: named output logs of workflow runs, with offsets, keys, caps, an end, and retention."""

from tailrace.workflow.cancellation import Cancellation
from tailrace.workflow.emitter import Emitter
from tailrace.workflow.errors import (
    IdempotencyConflictError,
    InvalidFieldsError,
    InvalidStreamNameError,
    NamespaceNotFoundError,
    RunExistsError,
    RunNotFoundError,
    StreamClosedError,
    StreamErroredError,
    StreamFullError,
    StreamNotFoundError,
    TooLargeError,
    WorkflowStreamError,
)
from tailrace.workflow.items import Item, Page
from tailrace.workflow.iteration import Iteration
from tailrace.workflow.model import Appended, NewItem, Origin, Run, RunInfo, Status, Stream, SweepResult
from tailrace.workflow.opening import WorkflowOptions
from tailrace.workflow.runs import Workflows, connect
from tailrace.workflow.streams import RunStreams

__all__ = [
    # runs and their streams
    "Cancellation",
    "Emitter",
    "Iteration",
    "RunStreams",
    "WorkflowOptions",
    "Workflows",
    "connect",
    # words
    "Appended",
    "Item",
    "NewItem",
    "Origin",
    "Page",
    "Run",
    "RunInfo",
    "Status",
    "Stream",
    "SweepResult",
    # errors
    "IdempotencyConflictError",
    "InvalidFieldsError",
    "InvalidStreamNameError",
    "NamespaceNotFoundError",
    "RunExistsError",
    "RunNotFoundError",
    "StreamClosedError",
    "StreamErroredError",
    "StreamFullError",
    "StreamNotFoundError",
    "TooLargeError",
    "WorkflowStreamError",
]  # fmt: skip
