"""Streams as rows of the one table in which they are looked at, and as JSON. Pure."""

import math
from typing import Any

from tailrace.workflow.documents import stream_document
from tailrace.workflow.model import SECOND, Status, Stream

HEADINGS = ("stream", "status", "head", "pending", "retention left", "reason")

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def row(stream: Stream, now: float) -> tuple[str, ...]:
    """Return a stream's cells.

    Args:
        now: Seconds since the epoch, by the clock of this machine: what is left is for people, and about right.
    """
    return (
        stream.stream_name,
        stream.status.value,
        str(stream.last_offset),
        f"{stream.pending_items:,}",
        _human(seconds_left(stream, now)),
        stream.error_reason or "",
    )


def as_json(stream: Stream, now: float) -> dict[str, Any]:
    """Return a stream with the words of the operator's table."""
    return {
        **stream_document(stream),
        "mode": "service",
        "cursor_offset": None,
        "offset_origin": 0,
        "delivery": "at-least-once",
        "direction": "workflow_output",
        "retention_left": seconds_left(stream, now),
    }


def seconds_left(stream: Stream, now: float) -> int | None:
    """Return for how long a stream is still kept; ``None``: it has not ended."""
    if stream.status is Status.OPEN or stream.closed_at is None or stream.retention_seconds is None:
        return None
    return max(0, math.ceil(stream.closed_at / SECOND + stream.retention_seconds - now))


def _human(seconds: int | None) -> str:
    if seconds is None:
        return "-"
    for size, unit in _UNITS:
        if seconds >= 2 * size or size == 1:
            return f"{seconds // size}{unit}"
    raise AssertionError("the last unit takes everything")
