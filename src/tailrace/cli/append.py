"""``tailrace append``: one payload, the lines of standard input, or a file.

Whatever stops it, it says how many records are stored for certain and which ones are not known to be.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, cast

import typer

from tailrace.cli import batches, output
from tailrace.cli.exits import Code, Stop, Terminated, code_of
from tailrace.cli.options import Json, Store, TopicName
from tailrace.cli.progress import Progress
from tailrace.cli.store import open_client
from tailrace.errors import DurableStreamError

Payload = Annotated[str | None, typer.Argument(metavar="PAYLOAD", help="One record.", show_default=False)]
File = Annotated[Path | None, typer.Option("--file", metavar="FILE", help="Read this file; - is standard input.")]
Lines = Annotated[
    bool | None,
    typer.Option(
        "--lines/--whole",
        help="A record for each line, or one for all of it. Standard input is read by lines, a file as a whole.",
        show_default=False,
    ),
]


def append(
    topic: TopicName,
    payload: Payload = None,
    file: File = None,
    by_line: Lines = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Append records to a topic: PAYLOAD, or what comes on standard input, or a file."""
    if payload is not None and (file is not None or by_line is not None):
        raise Stop(Code.USAGE, "give PAYLOAD, or --file with --lines or --whole, not both")
    progress = Progress()
    stopped: BaseException | None = None
    with _source(file, unused=payload is not None) as source, open_client(store, writes=True) as client:
        target = client.topic(topic)
        try:
            for batch in _payloads(source, payload, file, by_line, client.capabilities.max_payload):
                progress.sending(len(batch))
                target.append_many(batch)
                progress.acknowledged()
        except (DurableStreamError, KeyboardInterrupt) as exc:
            progress.stopped(exc)
            stopped = exc
    _report(topic, progress, stopped, as_json=as_json)


def _payloads(
    source: batches.Source, payload: str | None, file: Path | None, by_line: bool | None, limit: int
) -> Iterator[list[bytes]]:
    if payload is not None:
        # Arguments arrive decoded; this gives back the very bytes that were typed, UTF-8 or not.
        yield [os.fsencode(payload)]
    elif by_line if by_line is not None else file is None or str(file) == "-":
        yield from batches.lines(source, limit)
    else:
        yield [batches.whole(source, limit)]


@contextlib.contextmanager
def _source(file: Path | None, *, unused: bool) -> Iterator[batches.Source]:
    if unused or file is None or str(file) == "-":
        yield cast("batches.Source", sys.stdin.buffer)
        return
    try:
        stream = file.open("rb")
    except OSError as exc:
        raise Stop(Code.USAGE, f"{file} can not be read: {exc.strerror}") from exc
    with stream:
        yield stream


def _report(topic: str, progress: Progress, stopped: BaseException | None, *, as_json: bool) -> None:
    if as_json:
        output.json_line({"topic": topic, "stored": progress.stored, "uncertain": progress.uncertain})
    elif stopped is None:
        output.line(f"stored {output.count(progress.stored, 'record')}")
    sys.stdout.flush()
    if stopped is None:
        return
    if isinstance(stopped, DurableStreamError):
        code = Code.UNCERTAIN if progress.uncertain else code_of(stopped)
        why = str(stopped)
    else:
        code = Code.TERMINATED if isinstance(stopped, Terminated) else Code.INTERRUPTED
        why = "interrupted"
    raise Stop(code, f"{why}. {progress.sentence()}")
