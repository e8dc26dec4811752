"""Where ``tail`` writes its records, and the order in which a record and its place become safe."""

import contextlib
import os
import stat
from typing import BinaryIO

from tailrace.cli import output
from tailrace.cli.cursor_file import CursorFile
from tailrace.records import DurableStreamRecord


class Sink:
    """Writes records to a stream; with a cursor file, saves each one's cursor after it.

    Killed between the two, the next run writes that one record again and never misses one. Whoever needs
    exactly once keeps the output's length with the cursor: ``tailrace/cli/demo/consumer.py`` is the recipe.
    """

    def __init__(self, stream: BinaryIO, place: CursorFile | None, *, as_json: bool) -> None:
        self._stream = stream
        self._place = place
        self._as_json = as_json
        self._synced_fd = _regular_file(stream) if place is not None else None

    def write(self, record: DurableStreamRecord) -> None:
        """Write one record; with a cursor file, return when it is out and its place is saved."""
        self._stream.write(output.record_json(record) if self._as_json else record.payload + b"\n")
        if self._place is None:
            return
        self.flush()
        if self._synced_fd is not None:
            # Or a power cut could keep the place and lose the record.
            os.fsync(self._synced_fd)
        self._place.save(record.cursor)

    def flush(self) -> None:
        """Hand everything written so far to whoever reads it."""
        self._stream.flush()


def _regular_file(stream: BinaryIO) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        descriptor = stream.fileno()
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
    return None
