"""Reading streams: pages, waiting for one, and what this process knows of deliveries before the store does.

A page is read by ``store/reading.py``; whoever has to wait for one waits at the engine, behind what he has seen.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from tailrace.engine import Engine
from tailrace.spi import Database
from tailrace.workflow.cancellation import Cancellation
from tailrace.workflow.delivery import Deliveries
from tailrace.workflow.model import UNDELIVERED, ItemPage, Mark, Run, Stream, StreamRef
from tailrace.workflow.store import reading, rows
from tailrace.workflow.waiting import Look, Looks, Waits, Wanted

T = TypeVar("T")


class RunElsewhere(Protocol):
    """Runs something that blocks on behalf of an event loop."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Return what it returns."""
        ...


class Following:
    """Thread-safe.

    Args:
        engine: Whoever waits does so at it.
        deliveries: Takes note of what reached the head of a stream.
        elsewhere: Does what blocks, for whoever awaits a page.
    """

    def __init__(self, database: Database, engine: Engine, deliveries: Deliveries, elsewhere: RunElsewhere) -> None:
        self._database = database
        self._deliveries = deliveries
        self._elsewhere = elsewhere
        self._looks = Looks(self._look_at)
        self._waits = Waits(engine)

    def list_streams(self, run: Run) -> Sequence[Stream]:
        """Return the streams of a run. Blocks."""
        delivered = self._deliveries.waiting()
        streams = self._database.look(partial(reading.list_streams, run=run))
        return [
            as_delivered(found, delivered.get(run.stream(found.stream_name).topic, UNDELIVERED)) for found in streams
        ]

    def describe(self, stream: StreamRef) -> Stream:
        """Return a stream. Blocks."""
        delivered = self._deliveries.of(stream.topic)
        row = self._database.look(partial(reading.describe, stream=stream))
        return as_delivered(rows.stream_of(row.stream_name, row.state), delivered)

    def page(self, wanted: Wanted, wait_seconds: float, cancellation: Cancellation | None) -> ItemPage:
        """Return a page, waiting for it if need be. Blocks."""
        deadline = time.monotonic() + wait_seconds
        look = self._looks.fresh(wanted)
        if _over(look, deadline):
            return self._delivered(wanted.stream, look)
        board = self._looks.board(wanted)
        while not _over(look, deadline) and not (cancellation is not None and cancellation.cancelled):
            self._waits.until_moved(wanted.stream.topic, look.tail, deadline, cancellation)
            look = self._looks.shared(board, look)
        return self._delivered(wanted.stream, look)

    async def page_async(self, wanted: Wanted, wait_seconds: float) -> ItemPage:
        """Return a page, waiting for it if need be; no thread waits."""
        deadline = time.monotonic() + wait_seconds
        look = await self._elsewhere(partial(self._looks.fresh, wanted))
        if _over(look, deadline):
            return self._delivered(wanted.stream, look)
        board = self._looks.board(wanted)
        while not _over(look, deadline):
            await self._waits.until_moved_async(wanted.stream.topic, look.tail, deadline)
            look = await self._elsewhere(partial(self._looks.shared, board, look))
        return self._delivered(wanted.stream, look)

    def _look_at(self, wanted: Wanted) -> Look:
        read = partial(reading.page, stream=wanted.stream, from_offset=wanted.from_offset, max_items=wanted.max_items)
        delivered = self._deliveries.of(wanted.stream.topic)
        page, row = self._database.look(read)
        return Look(replace(page, stream=as_delivered(page.stream, delivered)), row)

    def _delivered(self, stream: StreamRef, look: Look) -> ItemPage:
        page = look.page
        row = look.row
        if (
            page.documents
            and page.next_offset == row.last_position
            and row.pending
            and row.last_appended_at is not None
        ):
            self._deliveries.note(stream.topic, Mark(page.next_offset - 1, row.last_appended_at))
        return page


def as_delivered(stream: Stream, delivered: Mark) -> Stream:
    """Return a stream with what the store did not know yet about deliveries by this process.

    Args:
        delivered: Up to where, as it was before the store was looked at: afterwards it may have been noted there, and
            be forgotten here.
    """
    head = (stream.last_offset, stream.last_appended_at)
    return replace(stream, pending_items=0) if stream.pending_items and delivered == head else stream


def _over(look: Look, deadline: float) -> bool:
    return look.says_something or time.monotonic() >= deadline
