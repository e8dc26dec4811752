"""Writing: results to standard output, words about them to standard error, JSON one object a line.

Names and reasons come from other people: control characters are shown escaped, never sent to the terminal.
"""

import base64
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tailrace.records import DurableStreamRecord


def note(text: str) -> None:
    """Write one line for people, on standard error."""
    sys.stderr.write(f"tailrace: {printable(text)}\n")
    sys.stderr.flush()


def line(text: str) -> None:
    """Write one line of the result."""
    sys.stdout.write(text + "\n")


def flush() -> None:
    """Let whoever reads see at once what was written."""
    sys.stdout.flush()


def json_line(value: Mapping[str, Any]) -> None:
    """Write one JSON object on one line, in ASCII whatever the locale is."""
    sys.stdout.write(json.dumps(value) + "\n")


def record_json(record: DurableStreamRecord) -> bytes:
    """Return one record as a line of JSON: ``payload`` if it is UTF-8, else ``payload_base64``."""
    value: dict[str, str] = {"cursor": record.cursor}
    try:
        value["payload"] = record.payload.decode("utf-8")
    except UnicodeDecodeError:
        value["payload_base64"] = base64.b64encode(record.payload).decode("ascii")
    return json.dumps(value).encode("ascii") + b"\n"


def printable(text: str) -> str:
    """Return the text with what a terminal would act on spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table: framed and coloured on a terminal, tab-separated where a program reads it."""
    if not sys.stdout.isatty():
        for row in (headings, *rows):
            line("\t".join(printable(cell) for cell in row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    framed = Table(box=box.SIMPLE_HEAD)
    for heading in headings:
        framed.add_column(heading, overflow="fold")
    for row in rows:
        framed.add_row(*(Text(printable(cell)) for cell in row))
    Console().print(framed)


def count(number: int, noun: str) -> str:
    """Return ``1 record``, ``2,000 records``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
