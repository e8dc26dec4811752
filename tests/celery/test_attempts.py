"""Attempts at one task, one after the other and beside each other: who writes what, and who ends the stream."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from celery import Celery, Task

from tailrace import workflow
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError
from tailrace.integrations.celery import SupersededError, TaskStream, task_stream
from tailrace.workflow import Appended, IdempotencyConflictError, RunStreams, Status, StreamErroredError

Numbered = Literal["restart", "continue"]


@pytest.fixture
def workflows(tmp_path: Path) -> Iterator[workflow.Workflows]:
    with workflow.connect(f"sqlite:///{tmp_path}/events.db") as opened:
        yield opened


@pytest.fixture
def run(workflows: workflow.Workflows) -> RunStreams:
    return workflows.run("w", "r")


@pytest.fixture
def app() -> Iterator[Celery]:
    with Celery("attempts", broker="memory://", set_as_current=False) as made:
        yield made


class Attempt:
    """What ``task_stream`` needs of a task: the request of an attempt at it, whose end nobody reports."""

    class request:  # noqa: N801 - celery's
        id = "task-1"
        retries = 0
        called_directly = False


def attempt(run: RunStreams, **options: Any) -> TaskStream:
    """Return the stream of another attempt at one and the same task."""

    class Request(Attempt.request):
        pass

    task = Attempt()
    task.request = Request  # type: ignore[assignment]
    return task_stream(task, run, "out", **options)


def said(run: RunStreams) -> list[object]:
    """Return the payloads; where an attempt begins anew, ``"*"``."""
    items = run.subscribe("out").items
    return ["*" if item.item_type == "attempt" else item.payload for item in items]
