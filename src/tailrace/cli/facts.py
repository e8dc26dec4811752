"""One topic's figures as text and as JSON, the same in every command that shows them. Pure."""

import datetime
from typing import Any

from tailrace.spi import TopicInfo


def as_json(info: TopicInfo) -> dict[str, Any]:
    """Return a topic as a JSON object; times are seconds since the epoch."""
    return {
        "topic": info.name,
        "records": info.records,
        "bytes": info.bytes,
        "last_append_at": info.last_append_at,
        "state": state(info),
        "error": info.seal.error if info.seal is not None else None,
    }


def state(info: TopicInfo) -> str:
    """Return ``open``, ``sealed`` or ``failed``."""
    if info.seal is None:
        return "open"
    return "sealed" if info.seal.error is None else "failed"


def moment(info: TopicInfo) -> str:
    """Return when the last record came, in UTC, or ``-``."""
    if info.last_append_at is None:
        return "-"
    return datetime.datetime.fromtimestamp(info.last_append_at, datetime.UTC).strftime("%Y-%m-%d %H:%M:%SZ")
