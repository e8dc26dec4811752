"""``tailrace append``: one payload, the lines of standard input, or a file.

Whatever stops it, it says how many records are stored for certain and which ones are not known to be.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli import feeding, output
from tailrace.cli.exits import Code, Stop
from tailrace.cli.options import Json, Store, TopicName
from tailrace.cli.progress import Progress, ending_of
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
    with feeding.opened(file, unused=payload is not None) as source, open_client(store, writes=True) as client:
        target = client.topic(topic)
        try:
            for batch in feeding.payloads(source, payload, file, by_line, client.capabilities.max_payload):
                progress.sending(len(batch))
                target.append_many(batch)
                progress.acknowledged()
        except (DurableStreamError, KeyboardInterrupt) as exc:
            progress.stopped(exc)
            stopped = exc
    _report(topic, progress, stopped, as_json=as_json)


def _report(topic: str, progress: Progress, stopped: BaseException | None, *, as_json: bool) -> None:
    if as_json:
        output.json_line({"topic": topic, "stored": progress.stored, "uncertain": progress.uncertain})
    elif stopped is None:
        output.line(f"stored {output.count(progress.stored, 'record')}")
    sys.stdout.flush()
    if stopped is not None:
        raise ending_of(stopped, progress)
