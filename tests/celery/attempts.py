"""Attempts at one task without a worker: a request each, and the end that Celery would report."""

import contextlib
import threading
from types import SimpleNamespace
from typing import Any, ClassVar

from celery import signals
from celery.app.task import Context

from tailrace.integrations.celery import TaskStream, task_stream
from tailrace.workflow import RunStreams

ID = "task-1"


class Attempt:
    """One attempt, by default at the same task as all others."""

    made: ClassVar[list["Attempt"]] = []
    """Those of the test that runs."""

    def __init__(self, run: RunStreams, *, task_id: str = ID, retries: int = 0) -> None:
        self.made.append(self)
        self._run = run
        self.task = SimpleNamespace(request=Context(id=task_id, retries=retries, called_directly=False))

    def stream(self, **options: Any) -> TaskStream:
        """Return the stream of the attempt."""
        return task_stream(self.task, self._run, "out", **options)

    def fails(self, error: Exception, *payloads: object, **options: Any) -> None:
        """Append something, and have an exception leave the block."""
        with contextlib.suppress(type(error)), self.stream(**options) as out:
            for payload in payloads:
                out.append([payload])
            raise error

    def ends(self, state: str | None, result: object = None) -> None:
        """Report the end of the task."""
        answers = signals.task_postrun.send(
            sender=self, task_id=ID, task=self.task, args=(), kwargs={}, retval=result, state=state
        )
        assert [answer for _, answer in answers if answer is not None] == []


def said(run: RunStreams) -> list[object]:
    """Return the payloads of the stream; where an attempt begins anew, ``"*"``."""
    items = run.subscribe("out").items
    return ["*" if item.item_type == "attempt" else item.payload for item in items]


def leases() -> list[threading.Thread]:
    """Return the threads that keep a lease."""
    return [thread for thread in threading.enumerate() if thread.name == "tailrace-lease"]
