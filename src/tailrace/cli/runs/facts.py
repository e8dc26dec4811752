"""One run's facts, and one stream's, as text and as JSON. Pure."""

from typing import Any

from tailrace.cli.runs import table
from tailrace.workflow.documents import instant
from tailrace.workflow.model import RunInfo, Stream


def of_stream(stream: Stream, now: float) -> list[tuple[str, str]]:
    """Return what is shown of a stream."""
    rows = list(zip(table.HEADINGS, table.row(stream, now), strict=True))
    rows += [("items", f"{stream.total_items:,}"), ("opened", instant(stream.opened_at))]
    if stream.last_appended_at is not None:
        rows.append(("last append", instant(stream.last_appended_at)))
    if stream.closed_at is not None:
        rows.append(("ended", instant(stream.closed_at)))
    return [row for row in rows if row != ("reason", "")]


def of_run(info: RunInfo) -> list[tuple[str, str]]:
    """Return what is shown of a run."""
    rows = [
        ("workflow", info.run.workflow_id),
        ("run", info.run.run_id),
        ("state", "running" if info.ended_at is None else "ended"),
        ("registered", "yes" if info.registered else "no, its first append has made it"),
        ("started", instant(info.started_at)),
        ("ended", "" if info.ended_at is None else instant(info.ended_at)),
        ("type", info.workflow_type or ""),
        ("task queue", info.task_queue or ""),
    ]
    return [row for row in rows if row[1]]


def run_json(info: RunInfo) -> dict[str, Any]:
    """Return a run as a JSON object."""
    return {
        "namespace": info.run.namespace,
        "workflow_id": info.run.workflow_id,
        "run_id": info.run.run_id,
        "registered": info.registered,
        "workflow_type": info.workflow_type,
        "task_queue": info.task_queue,
        "started_at": instant(info.started_at),
        "ended_at": None if info.ended_at is None else instant(info.ended_at),
    }
