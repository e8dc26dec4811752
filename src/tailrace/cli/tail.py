"""``tailrace tail``: write a topic's records out, from a place that can be kept across restarts."""

import sys
from pathlib import Path
from typing import Annotated

import typer

import tailrace
from tailrace import limits
from tailrace.cli.cursor_file import CursorFile
from tailrace.cli.exits import Code, Stop
from tailrace.cli.hangup import when_reader_goes
from tailrace.cli.options import Json, Store, TopicName
from tailrace.cli.sink import Sink
from tailrace.cli.store import open_client
from tailrace.errors import CursorUnavailableError
from tailrace.records import CLOSED, TopicCursor

LONG = 3600.0
"""Seconds of one wait without --timeout: nothing has to be looked at in between, signals and closing end it."""

From = Annotated[str | None, typer.Option("--from", metavar="beginning|tail|CURSOR", show_default=False, help=(
    "Where to start: the earliest record kept (the default), only what comes from now on, or after a cursor. "
    "A cursor file that exists goes before."))]  # fmt: skip
File = Annotated[Path | None, typer.Option("--cursor-file", metavar="FILE", show_default=False, help=(
    "Go on from the place in this file; save it there after each record that was written and flushed."))]  # fmt: skip
Most = Annotated[int | None, typer.Option("--max", metavar="N", min=1, show_default=False, help="End after N records.")]
Idle = Annotated[float | None, typer.Option("--timeout", metavar="S", min=0, show_default=False, help=(
    "End (status 10) when nothing came for S seconds. Without it: wait for ever."))]  # fmt: skip


def tail(
    topic: TopicName,
    start: From = None,
    cursor_file: File = None,
    most: Most = None,
    idle: Idle = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Write the records of a topic out, each followed by a newline, and go on until its seal.

    With --json, one object a line: "cursor" and "payload", or "payload_base64" if it is not UTF-8.
    """
    place = CursorFile(cursor_file) if cursor_file is not None else None
    with open_client(store, writes=False) as client:
        try:
            with _subscribe(client.topic(topic), start, place) as subscription:
                if place is not None:
                    # Fixes the start for good: killed before the first record, the next run starts at the
                    # same place, not at a tail that has moved meanwhile.
                    place.save(subscription.cursor)
                when_reader_goes(sys.stdout, subscription.close)
                _follow(subscription, Sink(sys.stdout.buffer, place, as_json=as_json), most, idle)
        except CursorUnavailableError as exc:
            raise Stop(Code.CURSOR_UNAVAILABLE, _advice(exc, cursor_file)) from exc


def _subscribe(topic: tailrace.Topic, start: str | None, place: CursorFile | None) -> tailrace.Subscription:
    saved = place.load() if place is not None else None
    if saved is not None:
        return topic.subscribe_from_cursor(saved)
    if start is None or start == "beginning":
        return topic.subscribe_from_beginning()
    if start == "tail":
        return topic.subscribe_from_tail()
    if len(start) != limits.MAX_CURSOR_CHARS:
        raise Stop(Code.USAGE, f"--from: {start!r} is neither beginning nor tail nor a cursor")
    return topic.subscribe_from_cursor(TopicCursor(start))


def _follow(subscription: tailrace.Subscription, sink: Sink, most: int | None, idle: float | None) -> None:
    written = 0
    try:
        while most is None or written < most:
            record = subscription.receive(0)
            if record is None:
                # About to wait: whoever reads us gets everything first.
                sink.flush()
                record = subscription.receive(LONG if idle is None else idle)
            if record is CLOSED:
                break
            if record is not None:
                sink.write(record)
                written += 1
            elif idle is not None:
                raise Stop(Code.IDLE, f"nothing came for {idle:g} s")
        else:
            return
    finally:
        sink.flush()
    _explain(subscription.end)


def _explain(end: tailrace.StreamEnd | None) -> None:
    if end is None or end.kind == "closed":
        raise Stop(Code.READER_GONE)
    if end.kind == "failed":
        raise Stop(Code.ENDED_AS_FAILED, f"the topic ended as failed: {end.error}")


def _advice(error: CursorUnavailableError, cursor_file: Path | None) -> str:
    first = f"delete {cursor_file} and " if cursor_file is not None else ""
    return (
        f"can not go on from there: {error}. Records after that place may be gone. To start again, {first}"
        "use --from beginning (what is still kept; some may be repeated) or --from tail (only what comes now)."
    )
