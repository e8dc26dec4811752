"""Runs: register one, look at it, note that it has ended, remove it. Nobody executes them here."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from tailrace.server.response import Response
from tailrace.server.workflow.answers import run_told
from tailrace.server.workflow.call import Call
from tailrace.server.workflow.refusals import json_answer
from tailrace.workflow.bounds import MAX_ID_CHARS
from tailrace.workflow.errors import RunExistsError, RunNotFoundError
from tailrace.workflow.field_errors import FieldErrors
from tailrace.workflow.identifiers import new_run_id
from tailrace.workflow.model import Run, RunInfo

_POLICIES = (None, "fail", "use-existing")


async def start(call: Call) -> Response:
    """Register a run; without an id for it, under one that is made here."""
    fields = _checked(await call.fields())
    run = Run(call.namespace, fields["workflow_id"], fields.get("run_id") or new_run_id())
    try:
        info, outcome = await call.shared.run(partial(_started, call, run, fields)), "started_new"
    except RunExistsError as error:
        if fields.get("duplicate_policy") != "use-existing":
            raise
        info, outcome = await _existing(call, run, error), "returned_existing_active"
    return json_answer(run_told(info, outcome=outcome), 201)


async def describe_workflow(call: Call) -> Response:
    """Answer with the run of a workflow that was started last."""
    work = partial(call.shared.service.latest_run, call.namespace, call.workflow_id)
    return json_answer(run_told(await call.shared.run(work)))


async def describe(call: Call) -> Response:
    """Answer with one run."""
    return json_answer(run_told(await call.shared.run(partial(call.shared.service.describe_run, call.run))))


async def end(call: Call) -> Response:
    """Note that a run has ended; its streams stay as they are."""
    run = call.run
    await call.fields()
    return json_answer(run_told(await call.shared.run(partial(call.shared.service.end_run, run))))


async def delete(call: Call) -> Response:
    """Remove a run with everything in it."""
    if not await call.shared.run(partial(call.shared.service.delete_run, call.run)):
        raise RunNotFoundError("there is no such run")
    return Response(204)


def _started(call: Call, run: Run, fields: Mapping[str, Any]) -> RunInfo:
    return call.shared.service.start_run(
        run, workflow_type=fields.get("workflow_type"), task_queue=fields.get("task_queue")
    )


async def _existing(call: Call, run: Run, error: RunExistsError) -> RunInfo:
    """Return the run that was in the way: the one that goes on, or the one that has the id already.

    Not the latest one of the workflow: that may be another, which an append has begun.
    """
    found = replace(run, run_id=error.run_id or run.run_id)
    info = await call.shared.run(partial(call.shared.service.describe_run, found))
    if info.ended_at is not None:
        raise RunExistsError("a run with this id has ended already")
    return info


def _checked(fields: Mapping[str, object]) -> Mapping[str, Any]:
    wrong = FieldErrors()
    wrong.text("workflow_id", fields.get("workflow_id"), MAX_ID_CHARS, least=1)
    for name in ("run_id", "workflow_type", "task_queue"):
        wrong.optional(name, fields.get(name), MAX_ID_CHARS)
    if fields.get("duplicate_policy") not in _POLICIES:
        wrong.add("duplicate_policy", "must be fail or use-existing")
    wrong.refuse()
    return cast("Mapping[str, Any]", fields)
