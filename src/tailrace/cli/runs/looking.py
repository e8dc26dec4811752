"""``tailrace runs list`` and ``describe``: what streams a run has, and what is known about one, or about the run."""

import time
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.exits import Stop, code_of
from tailrace.cli.options import Json
from tailrace.cli.runs import facts, notes, table
from tailrace.cli.runs.opening import open_runs
from tailrace.cli.runs.options import HERE, Namespace, Run, Store, Workflow
from tailrace.errors import DurableStreamError

RunOrLatest = Annotated[
    str | None, typer.Argument(metavar="RUN", help="Id of the run; the latest one without it.", show_default=False)
]
StreamOrNone = Annotated[
    str | None,
    typer.Argument(metavar="STREAM", help="Name of a stream; the run itself without it.", show_default=False),
]


def list_streams(
    workflow: Workflow, run: Run, namespace: Namespace = HERE, store: Store = None, as_json: Json = False
) -> None:
    """List the streams of a run by name: how they stand, what is pending, for how long they are kept."""
    try:
        with open_runs(store, namespace, writes=False) as workflows:
            streams = workflows.run(workflow, run).list()
    except DurableStreamError as error:
        notes.amber(f"the streams of this run can not be read: {error}")
        raise Stop(code_of(error)) from error
    now = time.time()
    if as_json:
        for stream in streams:
            output.json_line(table.as_json(stream, now))
    elif streams:
        output.table(table.HEADINGS, [table.row(stream, now) for stream in streams])
    else:
        notes.grey("this run has no streams")


def describe(
    workflow: Workflow,
    run: RunOrLatest = None,
    stream: StreamOrNone = None,
    namespace: Namespace = HERE,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Show what is known about a stream, or about a run."""
    with open_runs(store, namespace, writes=False) as workflows:
        if run is not None and stream is not None:
            found = workflows.run(workflow, run).describe(stream)
            told, rows = table.as_json(found, time.time()), facts.of_stream(found, time.time())
        else:
            info = workflows.describe(workflow, run)
            told, rows = facts.run_json(info), facts.of_run(info)
    if as_json:
        output.json_line(told)
        return
    for label, value in rows:
        output.line(f"{label:<14} {output.printable(value)}")
