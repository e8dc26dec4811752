"""Runs of workflows and their streams, for coroutines: the awaited mirror of ``tailrace.workflow``."""

from tailrace.workflow.aio.emitter import Emitter
from tailrace.workflow.aio.iteration import Iteration
from tailrace.workflow.aio.runs import Workflows, connect
from tailrace.workflow.aio.service import AsyncService
from tailrace.workflow.aio.streams import RunStreams

__all__ = ["AsyncService", "Emitter", "Iteration", "RunStreams", "Workflows", "connect"]
