"""The end of a stream, and signs of life before it."""

from tailrace.spi import Ask
from tailrace.workflow import rules
from tailrace.workflow.errors import StreamNotFoundError
from tailrace.workflow.model import Stream, StreamRef
from tailrace.workflow.store import rows, runs
from tailrace.workflow.store.rows import StreamRow


def end(
    ask: Ask, stream: StreamRef, error_reason: str | None, retention_seconds: int | None
) -> tuple[Stream, list[str]]:
    """Close a stream, or end it as errored; return it, and the topic if that was now.

    Raises:
        RunNotFoundError, StreamNotFoundError: It is not there.
    """
    row = _locked(ask, stream)
    before = row.state
    state = rules.end(before, error_reason, retention_seconds, row.now)
    if state is before:
        return rows.stream_of(row.stream_name, state), []
    rows.end(ask, row, state)
    return rows.stream_of(row.stream_name, state), [stream.topic]


def renew(ask: Ask, stream: StreamRef, lease_seconds: int) -> tuple[Stream, list[str]]:
    """Note that the producer of a stream was heard of; return the stream.

    Raises:
        RunNotFoundError, StreamNotFoundError: It is not there.
        StreamClosedError, StreamErroredError: It has ended.
    """
    row = _locked(ask, stream)
    state = rules.renewed(row.state, lease_seconds, row.now)
    rows.renew(ask, row, state)
    return rows.stream_of(row.stream_name, state), []


def _locked(ask: Ask, stream: StreamRef) -> StreamRow:
    row = rows.lock(ask, stream.topic)
    if row is None:
        runs.find(ask, stream.run)
        raise StreamNotFoundError(rules.NOT_FOUND)
    return row
