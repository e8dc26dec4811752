"""``tailrace sweep``: remove what is older or more than you want to keep, in bounded steps."""

import dataclasses
import threading
from functools import partial
from typing import Annotated

import typer

from tailrace import units
from tailrace.cli import output
from tailrace.cli.exits import Code, Stop
from tailrace.cli.options import Json, Store
from tailrace.cli.store import open_client
from tailrace.retention import Retention
from tailrace.spi import SweepBudget, SweepReport
from tailrace.sweeping import sweep_until
from tailrace.units import human_bytes

_BUDGET = SweepBudget()
_EVERY = 60.0

Age = Annotated[float | None, typer.Option("--max-age", parser=units.seconds, metavar="DURATION", show_default=False,
    help="Keep records this long: 3600, 12h, 7d.")]  # fmt: skip
Records = Annotated[int | None, typer.Option("--max-records", metavar="N", min=0, show_default=False,
    help="Keep this many records of each topic.")]  # fmt: skip
Size = Annotated[int | None, typer.Option("--max-bytes", parser=units.size, metavar="SIZE", show_default=False,
    help="Keep this many payload bytes of each topic: 10MB, 1GiB.")]  # fmt: skip
Only = Annotated[str | None, typer.Option("--topic", metavar="PATTERN", show_default=False,
    help="Only topics that match: 'run:*'.")]  # fmt: skip
Watch = Annotated[bool, typer.Option("--watch", help="Go on until interrupted, as a service would.")]
Every = Annotated[float | None, typer.Option("--every", parser=units.seconds, metavar="DURATION", show_default=False,
    help="With --watch: rest this long when there is nothing left to do (1m).")]  # fmt: skip
Forget = Annotated[float | None, typer.Option("--forget-after", parser=units.seconds, metavar="DURATION",
    show_default=False, help="Also forget topics that are empty and idle this long.")]  # fmt: skip
BudgetRecords = Annotated[int, typer.Option("--budget-records", metavar="N", min=1, help="Remove at most N in all.")]
BudgetTime = Annotated[
    float, typer.Option("--budget-seconds", metavar="S", min=0.001, help="Begin nothing new after S.")
]
Chunk = Annotated[
    int, typer.Option("--chunk-records", metavar="N", min=1, help="Remove N at once: writers wait for it.")
]


def sweep(
    max_age: Age = None,
    max_records: Records = None,
    max_bytes: Size = None,
    only: Only = None,
    forget_after: Forget = None,
    budget_records: BudgetRecords = _BUDGET.max_records,
    budget_seconds: BudgetTime = _BUDGET.max_seconds,
    chunk_records: Chunk = _BUDGET.chunk_records,
    watch: Watch = False,
    every: Every = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Apply a retention to all topics, within a budget. Run it again, or regularly, or with --watch, to go on."""
    retention = Retention(max_age=max_age, max_records=max_records, max_bytes=max_bytes)
    if retention.unbounded and forget_after is None:
        raise Stop(Code.USAGE, "say what to keep: --max-age, --max-records, --max-bytes or --forget-after")
    if every is not None and not watch:
        raise Stop(Code.USAGE, "--every is for --watch")
    budget = SweepBudget(max_records=budget_records, max_seconds=budget_seconds, chunk_records=chunk_records)
    with open_client(
        store,
        writes=False,
        retention=retention if only is None else None,
        topic_retention={} if only is None else {only: retention},
        forget_after=forget_after,
    ) as client:
        if watch:
            # Ended by SIGTERM or an interrupt, at any moment: what a transaction had not finished is undone.
            round_ = partial(client.maintenance.sweep, budget)
            sweep_until(threading.Event(), round_, every or _EVERY, partial(_tell_work, as_json), over=lambda: False)
        report = client.maintenance.sweep(budget)
    _tell(report, as_json)
    if not report.done and not as_json:
        output.note("work is left, beyond the budget or held by somebody: run it again")


def _tell_work(as_json: bool, report: SweepReport) -> None:
    # A service that says every minute that there was nothing to do hides what it does.
    if report.records or report.forgotten:
        _tell(report, as_json)
        # Now: whoever reads a pipe waits for it, and this process may go on for months.
        output.flush()


def _tell(report: SweepReport, as_json: bool) -> None:
    if as_json:
        output.json_line(dataclasses.asdict(report))
        return
    output.line(
        f"removed {output.count(report.records, 'record')} ({human_bytes(report.bytes)}), "
        f"forgot {output.count(report.forgotten, 'topic')}, looked at {output.count(report.topics, 'topic')}"
    )
