"""The register of runs in a database: who starts one, what it looks like, its end, and its removal with all in it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from tailrace.engine import Engine
from tailrace.spi import Ask, Database
from tailrace.workflow.model import Run, RunInfo
from tailrace.workflow.payloads.release import PayloadRelease
from tailrace.workflow.store import retention, runs

T = TypeVar("T")


class RunRegister:
    """Thread-safe; blocks. What it is given is within its bounds already.

    Args:
        engine: Is told which streams are gone.
        objects: Goes before the rows of a run do.
        timeout: Seconds that one transaction may take.
    """

    def __init__(self, database: Database, engine: Engine, objects: PayloadRelease, timeout: float) -> None:
        self._database = database
        self._engine = engine
        self._objects = objects
        self._timeout = timeout

    def start(self, run: Run, workflow_type: str | None, task_queue: str | None) -> RunInfo:
        """Add a run.

        Raises:
            RunExistsError: It is there already, or another one of its workflow goes on.
        """
        return self._change(lambda ask: runs.start(ask, run, workflow_type, task_queue))

    def describe(self, run: Run) -> RunInfo:
        """Return what a run looks like.

        Raises:
            RunNotFoundError: There is no such run.
        """
        return self._database.look(partial(runs.describe, run=run))

    def latest(self, namespace: str, workflow_id: str) -> RunInfo:
        """Return the run of a workflow that was started last.

        Raises:
            RunNotFoundError: There is none.
        """
        return self._database.look(partial(runs.latest, namespace=namespace, workflow_id=workflow_id))

    def end(self, run: Run) -> RunInfo:
        """Note that a run has ended.

        Raises:
            RunNotFoundError: There is no such run.
        """
        return self._change(lambda ask: runs.end(ask, run))

    def delete(self, run: Run) -> bool:
        """Remove a run with its streams, items and tombstones; return whether it was there.

        Raises:
            DurableStreamError: The object of a payload could not be deleted: the run stays.
        """
        self._objects.release(run)
        deleted, moved = self._database.change(partial(_deleted, run), self._timeout)
        for topic in moved:
            self._engine.hint(topic)
        return deleted

    def _change(self, work: Callable[[Ask], T]) -> T:
        return self._database.change(lambda ask: (work(ask), ()), self._timeout)


def _deleted(run: Run, ask: Ask) -> tuple[tuple[bool, Sequence[str]], Sequence[str]]:
    deleted, moved = retention.delete_run(ask, run)
    return (deleted, moved), moved
