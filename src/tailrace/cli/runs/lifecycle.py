"""``tailrace runs start``, ``end``, ``delete`` and ``sweep``: runs themselves, and what is kept of them."""

import dataclasses
import sys
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.exits import Code, Stop
from tailrace.cli.options import Json
from tailrace.cli.runs import facts
from tailrace.cli.runs.opening import open_runs
from tailrace.cli.runs.options import HERE, Namespace, Run, Store, Workflow

NewRun = Annotated[
    str | None, typer.Argument(metavar="RUN", help="Id of the run; a new one without it.", show_default=False)
]
Type = Annotated[str | None, typer.Option("--type", metavar="WORD", help="Type of the workflow.", show_default=False)]
Queue = Annotated[str | None, typer.Option("--task-queue", metavar="WORD", help="Its task queue.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def start(
    workflow: Workflow,
    run: NewRun = None,
    workflow_type: Type = None,
    task_queue: Queue = None,
    namespace: Namespace = HERE,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Register a run, and print its id."""
    with open_runs(store, namespace, writes=True) as workflows:
        info = workflows.start(workflow, run, workflow_type=workflow_type, task_queue=task_queue)
    if as_json:
        output.json_line(facts.run_json(info))
    else:
        output.line(output.printable(info.run.run_id))


def end(workflow: Workflow, run: Run, namespace: Namespace = HERE, store: Store = None, as_json: Json = False) -> None:
    """Note that a run has ended. Its streams stay as they are."""
    with open_runs(store, namespace, writes=False) as workflows:
        info = workflows.end(workflow, run)
    if as_json:
        output.json_line(facts.run_json(info))
    else:
        output.line("ended")


def delete(
    workflow: Workflow,
    run: Run,
    yes: Yes = False,
    namespace: Namespace = HERE,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Remove a run with its streams and all their items."""
    with open_runs(store, namespace, writes=False) as workflows:
        if not yes:
            _ask(run)
        existed = workflows.delete(workflow, run)
    if not existed:
        raise Stop(Code.NO_SUCH_TOPIC, f"there is no run {run!r} of this workflow")
    if as_json:
        output.json_line({"workflow_id": workflow, "run_id": run, "deleted": True})
    else:
        output.line("deleted")


def sweep(store: Store = None, as_json: Json = False) -> None:
    """Remove what has expired, in all namespaces, within a budget. Run it again, or regularly, to go on.

    A server does this by itself; this is for databases.
    """
    with open_runs(store, HERE, writes=False) as workflows:
        result = workflows.sweep()
    if as_json:
        output.json_line(dataclasses.asdict(result))
        return
    output.line(
        f"removed {output.count(result.items, 'item')} of {output.count(result.streams, 'expired stream')}, "
        f"{output.count(result.runs, 'run')}, {output.count(result.payloads, 'payload')}; "
        f"ended {output.count(result.lost_producers, 'stream')} of lost producers"
    )
    if result.failed:
        output.note(f"{result.failed:,} streams, runs or payloads could not be removed; they are tried again later")
    if result.held:
        output.note(f"{result.held:,} streams, runs or payloads stay because of a hold; they are tried again later")
    if not result.done:
        output.note("the budget ended it with work left: run it again")


def _ask(run: str) -> None:
    if not sys.stdin.isatty():
        raise Stop(Code.USAGE, "nobody is here to confirm: add --yes")
    if not typer.confirm(f"Delete the run {output.printable(run)!r} with all its items?", err=True):
        raise Stop(Code.USAGE, "nothing was deleted")
