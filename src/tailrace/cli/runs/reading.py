"""``tailrace runs read`` and ``follow``: a stream's items, those that are there, or all until its end."""

import sys
import threading
from typing import Annotated

import typer

from tailrace import workflow as streams
from tailrace.cli import output
from tailrace.cli.exits import Code, Stop
from tailrace.cli.hangup import when_reader_goes
from tailrace.cli.options import Json
from tailrace.cli.runs.items import write
from tailrace.cli.runs.opening import open_runs
from tailrace.cli.runs.options import HERE, Namespace, Run, Store, Stream, Workflow
from tailrace.workflow.bounds import MAX_ITEMS

From = Annotated[int, typer.Option("--from", metavar="OFFSET", min=0, help="Of the first item.")]
Most = Annotated[int | None, typer.Option("--max", metavar="N", min=1, show_default=False, help="End after N items.")]
Idle = Annotated[float | None, typer.Option("--timeout", metavar="S", min=0, show_default=False,
    help="End (status 10) when nothing came for S seconds. Without it: wait for ever.")]  # fmt: skip
Wait = Annotated[bool, typer.Option("--wait", help="Wait for a stream, or run, that is not there yet.")]

_FOR_EVER = 30 * 86400.0


def read(
    workflow: Workflow,
    run: Run,
    stream: Stream,
    start: From = 0,
    most: Most = None,
    namespace: Namespace = HERE,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Write the items of a stream that are there now, a payload a line; then say where to go on.

    With --json, one object a line: the item, with its payload as it was appended.
    """
    with open_runs(store, namespace, writes=False) as workflows:
        target, written, offset = workflows.run(workflow, run), 0, start
        while True:
            wanted = MAX_ITEMS if most is None else min(MAX_ITEMS, most - written)
            page = target.subscribe(stream, from_offset=offset, max_items=wanted)
            for item in page.items:
                write(item, as_json=as_json)
            written, offset = written + len(page.items), page.next_offset
            if written == most or not page.items or offset > page.stream.last_offset:
                break
    output.flush()
    if not as_json:
        ended = ", and nothing will follow" if page.terminal else ""
        output.note(f"the next offset is {offset}{ended}")


def follow(
    workflow: Workflow,
    run: Run,
    stream: Stream,
    start: From = 0,
    most: Most = None,
    idle: Idle = None,
    wait: Wait = False,
    namespace: Namespace = HERE,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Write the items of a stream as they come, a payload a line, until its end.

    Rides out a database or server that is away. With --json, one object a line, as of read.
    """
    with open_runs(store, namespace, writes=False) as workflows:
        items = workflows.run(workflow, run).iterate(
            stream, from_offset=start, opening_budget=_FOR_EVER if wait else 0.0
        )
        with items:
            when_reader_goes(sys.stdout, items.close)
            _follow(items, most, idle, as_json=as_json)


def _follow(items: streams.Iteration, most: int | None, idle: float | None, *, as_json: bool) -> None:
    written = 0
    while written != most:
        watch = _Watch(items, idle)
        item = next(items, None)
        over = watch.ends()
        if item is not None:
            # Also if it came at the last moment: the next offset is behind it.
            write(item, as_json=as_json)
            output.flush()
            written += 1
        if over:
            raise Stop(Code.IDLE, f"nothing came for {idle:g} s; the next offset is {items.next_offset}")
        if item is None:
            _explain(items.stream)
            return


def _explain(stream: streams.Stream | None) -> None:
    if stream is None or stream.status is streams.Status.OPEN:
        raise Stop(Code.READER_GONE)
    if stream.status is streams.Status.ERRORED:
        raise Stop(Code.ENDED_AS_FAILED, f"the stream has ended as errored: {stream.error_reason}")


class _Watch:
    """Closes an iteration that has waited for one item for too long."""

    def __init__(self, items: streams.Iteration, idle: float | None) -> None:
        self._fired = False
        self._items = items
        self._timer = None if idle is None else threading.Timer(idle, self._fire)
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def ends(self) -> bool:
        """Stop watching; return whether the time was over."""
        if self._timer is not None:
            self._timer.cancel()
        return self._fired

    def _fire(self) -> None:
        self._fired = True
        self._items.close()
