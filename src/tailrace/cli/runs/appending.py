"""``tailrace runs append``: one JSON value, the lines of standard input, or a file."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tailrace import units
from tailrace.cli import feeding, output
from tailrace.cli.exits import Code, Stop
from tailrace.cli.options import Json
from tailrace.cli.progress import Progress, ending_of
from tailrace.cli.runs.opening import open_runs, whole_seconds
from tailrace.cli.runs.options import HERE, Namespace, Run, Store, Stream, Workflow
from tailrace.errors import DurableStreamError, InvalidArgumentError
from tailrace.workflow.bounds import MAX_ITEMS, MAX_PENDING_ITEMS
from tailrace.workflow.model import NewItem, Origin

LINE_BYTES = 2**20
"""Bytes in one payload: with what was read together with it, a server takes it in one request."""

Payload = Annotated[str | None, typer.Argument(metavar="JSON", help="One payload.", show_default=False)]
File = Annotated[Path | None, typer.Option("--file", metavar="FILE", help="Read this file; - is standard input.")]
Lines = Annotated[bool | None, typer.Option("--lines/--whole", show_default=False,
    help="An item for each line, or one for all. Standard input is read by lines, a file as a whole.")]  # fmt: skip
AsText = Annotated[bool, typer.Option("--text", help="What is read is text, and becomes a JSON string.")]
Keys = Annotated[str | None, typer.Option("--keys", metavar="PREFIX", show_default=False,
    help="Give the items the keys PREFIX:0, PREFIX:1 and so on: run again, it appends nothing twice.")]  # fmt: skip
Type = Annotated[str | None, typer.Option("--type", metavar="WORD", show_default=False, help="Type of the items.")]
Cap = Annotated[int, typer.Option("--max-pending", metavar="N", min=1, max=MAX_PENDING_ITEMS,
    help="Refuse them if more than N would wait for a reader.")]  # fmt: skip
Lease = Annotated[float | None, typer.Option("--lease", parser=units.seconds, metavar="DURATION", show_default=False,
    help="End the stream as errored if nothing more comes for so long.")]  # fmt: skip


def append(
    workflow: Workflow,
    run: Run,
    stream: Stream,
    payload: Payload = None,
    file: File = None,
    by_line: Lines = None,
    as_text: AsText = False,
    keys: Keys = None,
    item_type: Type = None,
    max_pending: Cap = MAX_PENDING_ITEMS,
    lease: Lease = None,
    namespace: Namespace = HERE,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Append items to a stream of a run: JSON, or what comes on standard input, or a file."""
    if payload is not None and (file is not None or by_line is not None):
        raise Stop(Code.USAGE, "give JSON, or --file with --lines or --whole, not both")
    lease_seconds = whole_seconds(lease, "--lease")
    progress = Progress("item")
    duplicates = 0
    stopped: BaseException | None = None
    with (
        feeding.opened(file, unused=payload is not None) as source,
        open_runs(store, namespace, writes=True) as workflows,
    ):
        target = workflows.run(workflow, run)
        try:
            for batch in _batches(feeding.payloads(source, payload, file, by_line, LINE_BYTES)):
                items = [
                    NewItem(
                        payload=_json(raw, as_text=as_text),
                        idempotency_key=None if keys is None else f"{keys}:{progress.stored + index}",
                        origin=Origin.EXTERNAL,
                        item_type=item_type,
                    )
                    for index, raw in enumerate(batch)
                ]
                progress.sending(len(items))
                done = target.append(stream, items, max_pending_items=max_pending, lease_seconds=lease_seconds)
                progress.acknowledged()
                duplicates += done.deduped
        except (DurableStreamError, KeyboardInterrupt) as exc:
            progress.stopped(exc)
            stopped = exc
    _report(stream, progress, duplicates, stopped, as_json=as_json)


def _batches(found: Iterator[list[bytes]]) -> Iterator[list[bytes]]:
    for payloads in found:
        for start in range(0, len(payloads), MAX_ITEMS):
            yield payloads[start : start + MAX_ITEMS]


def _json(raw: bytes, *, as_text: bool) -> bytes:
    if not as_text:
        return raw
    try:
        return json.dumps(raw.decode()).encode()
    except UnicodeDecodeError as exc:
        raise InvalidArgumentError("what is read is no text in UTF-8") from exc


def _report(stream: str, progress: Progress, duplicates: int, stopped: BaseException | None, *, as_json: bool) -> None:
    if as_json:
        told = {"stored": progress.stored, "duplicates": duplicates, "uncertain": progress.uncertain}
        output.json_line({"stream": stream, **told})
    elif stopped is None:
        known = f", {duplicates:,} of them before" if duplicates else ""
        output.line(f"stored {output.count(progress.stored, 'item')}{known}")
    sys.stdout.flush()
    if stopped is not None:
        raise ending_of(stopped, progress)
