"""``tailrace runs close`` and ``error``: a stream's end."""

import time
from typing import Annotated

import typer

from tailrace.cli import output
from tailrace.cli.options import Json
from tailrace.cli.runs import table
from tailrace.cli.runs.opening import open_runs, whole_seconds
from tailrace.cli.runs.options import HERE, Namespace, Retention, Run, Store, Stream, Workflow
from tailrace.workflow import Stream as Found

Reason = Annotated[str, typer.Argument(metavar="REASON", help="Why, for readers.", show_default=False)]


def close(
    workflow: Workflow,
    run: Run,
    stream: Stream,
    retention: Retention = None,
    namespace: Namespace = HERE,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Close a stream: nothing new can be appended, and readers end once they have everything.

    The first end stands; closing again changes nothing.
    """
    seconds = whole_seconds(retention, "--retention")
    with open_runs(store, namespace, writes=False) as workflows:
        ended = workflows.run(workflow, run).close(stream, retention_seconds=seconds)
    _report(ended, as_json=as_json)


def error(
    workflow: Workflow,
    run: Run,
    stream: Stream,
    reason: Reason,
    retention: Retention = None,
    namespace: Namespace = HERE,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """End a stream as errored. The first end stands."""
    seconds = whole_seconds(retention, "--retention")
    with open_runs(store, namespace, writes=False) as workflows:
        ended = workflows.run(workflow, run).error(stream, reason, retention_seconds=seconds)
    _report(ended, as_json=as_json)


def _report(stream: Found, *, as_json: bool) -> None:
    if as_json:
        output.json_line(table.as_json(stream, time.time()))
    else:
        output.line(stream.status.value)
