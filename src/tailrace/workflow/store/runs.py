"""Runs: finding, registering, ending and removing them."""

from typing import NamedTuple

from tailrace.spi import Ask
from tailrace.workflow.errors import RunExistsError, RunNotFoundError
from tailrace.workflow.model import Run, RunInfo
from tailrace.workflow.store.clock import now

_COLUMNS = "id, registered, started_at, ended_at, workflow_type, task_queue, run_id"
_FIND = f"SELECT {_COLUMNS} FROM {{workflow_runs}} WHERE namespace = ? AND workflow_id = ? AND run_id = ?"
_SHARE = f"{_FIND} {{for_share}}"
_LOCK = f"{_FIND} {{for_update}}"
_LATEST = f"""
SELECT {_COLUMNS} FROM {{workflow_runs}} WHERE namespace = ? AND workflow_id = ? ORDER BY id DESC LIMIT 1
"""
_GOING_ON = """
SELECT run_id FROM {workflow_runs} WHERE namespace = ? AND workflow_id = ? AND going_on = 1
"""
_END = "UPDATE {workflow_runs} SET ended_at = ?, prune_at = ?, going_on = NULL WHERE id = ?"

_NEW = {
    "namespace": bytes,
    "workflow_id": bytes,
    "run_id": bytes,
    "registered": int,
    "going_on": int,
    "workflow_type": bytes,
    "task_queue": bytes,
    "started_at": int,
}

NOT_FOUND = "there is no such run of this workflow in this namespace"


class RunRow(NamedTuple):
    """A run, as its statements select it."""

    id: int
    registered: int
    started_at: int
    ended_at: int | None
    workflow_type: bytes | None
    task_queue: bytes | None
    run_id: bytes

    def info(self, namespace: str, workflow_id: str) -> RunInfo:
        """Return it as operations answer with it."""
        return RunInfo(
            run=Run(namespace, workflow_id, self.run_id.decode()),
            registered=bool(self.registered),
            started_at=self.started_at,
            ended_at=self.ended_at,
            workflow_type=_text(self.workflow_type),
            task_queue=_text(self.task_queue),
        )


def find(ask: Ask, run: Run) -> RunRow:
    """Return a run.

    Raises:
        RunNotFoundError: There is none.
    """
    return _found(_only(ask, _FIND, run))


def describe(ask: Ask, run: Run) -> RunInfo:
    """Return what a run looks like.

    Raises:
        RunNotFoundError: There is none.
    """
    return find(ask, run).info(run.namespace, run.workflow_id)


def latest(ask: Ask, namespace: str, workflow_id: str) -> RunInfo:
    """Return the run of a workflow that came last.

    Raises:
        RunNotFoundError: There is none.
    """
    rows = ask(_LATEST, namespace.encode(), workflow_id.encode())
    return _found(RunRow._make(rows[0]) if rows else None).info(namespace, workflow_id)


def share(ask: Ask, run: Run, *, create: bool) -> int:
    """Return the id of a run that nobody removes before this transaction ends.

    Args:
        create: Whether it is made if there is none.

    Raises:
        RunNotFoundError: There is none.
    """
    row = _only(ask, _SHARE, run)
    if row is None and create:
        # Two who come at once both get here; the second one waits for the first, and finds its row.
        ask.add("workflow_runs", _NEW, [_new(run, now(ask), registered=0)], if_new=True)
        row = _only(ask, _SHARE, run)
    return _found(row).id


def lock(ask: Ask, run: Run) -> RunRow | None:
    """Return a run that nobody opens streams in, or changes, before this transaction ends."""
    return _only(ask, _LOCK, run)


def start(ask: Ask, run: Run, workflow_type: str | None, task_queue: str | None) -> RunInfo:
    """Register a run.

    Raises:
        RunExistsError: It is there, or another one of its workflow goes on.
    """
    if _only(ask, _LOCK, run) is not None:
        raise RunExistsError("there is a run with this id already")
    going_on = ask(_GOING_ON, run.namespace.encode(), run.workflow_id.encode())
    if going_on:
        raise RunExistsError(
            "a run of this workflow goes on: end it first", {"workflow_run_id": going_on[0][0].decode()}
        )
    row = _new(run, now(ask), registered=1, workflow_type=workflow_type, task_queue=task_queue)
    ask.add("workflow_runs", _NEW, [row])
    return describe(ask, run)


def end(ask: Ask, run: Run) -> RunInfo:
    """Note that a run has ended; the first end stands.

    Raises:
        RunNotFoundError: There is none.
    """
    row = _found(lock(ask, run))
    if row.ended_at is None:
        at = now(ask)
        ask.do(_END, at, at, row.id)
        row = row._replace(ended_at=at)
    return row.info(run.namespace, run.workflow_id)


def _new(
    run: Run, at: int, *, registered: int, workflow_type: str | None = None, task_queue: str | None = None
) -> tuple[int | bytes | None, ...]:
    return (
        run.namespace.encode(),
        run.workflow_id.encode(),
        run.run_id.encode(),
        registered,
        registered or None,
        None if workflow_type is None else workflow_type.encode(),
        None if task_queue is None else task_queue.encode(),
        at,
    )


def _only(ask: Ask, statement: str, run: Run) -> RunRow | None:
    rows = ask(statement, run.namespace.encode(), run.workflow_id.encode(), run.run_id.encode())
    return RunRow._make(rows[0]) if rows else None


def _found(row: RunRow | None) -> RunRow:
    if row is None:
        raise RunNotFoundError(NOT_FOUND)
    return row


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode()
