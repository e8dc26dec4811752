"""The answer to one job, as a stream that any number of attempts may write, and that has every piece once.

An item's key is its place in the stream. An attempt reads what is there, has the model continue it, and appends item
``n`` only once it knows items 0 to ``n - 1``. Then whatever happens, the stream is one text:

* A worker is killed between an append and its acknowledgement. The next attempt reads the item, and goes on behind it.
* An append is repeated because nobody knows if it was stored. The key is there already: nothing is stored twice.
* A worker was only stopped for a while, and two write at once, perhaps different words. Whoever stores item ``n``
  first has written it; the other one is refused (``IdempotencyConflictError``) and gives up.
"""

import asyncio
import logging

from tailrace.workflow import (
    RunNotFoundError,
    Status,
    StreamFullError,
    StreamNotFoundError,
)
from tailrace.workflow.aio import RunStreams

STREAM = "answer"
DAY = 86400
"""How long a stream is kept after its end: for pages that come back late, and for jobs whose worker died at the end."""

STARTED = {"event": "started"}
"""The first item: it opens the stream, which has to be open before it can end, also before it can end as failed."""

logger = logging.getLogger("chat.writing")


class Answer:
    """What is written of one answer. Used by one attempt.

    Args:
        run: The job's streams.

    Attributes:
        text: As far as it is known to be stored.
        over: Whether an earlier attempt has ended the stream.
        error: The reason, if it ended as failed.
    """

    def __init__(self, run: RunStreams) -> None:
        self._run = run
        self._next = 0
        self.text = ""
        self.over = False
        self.error: str | None = None

    async def catch_up(self) -> None:
        """Read what earlier attempts have written, and open the stream if there was none."""
        try:
            page = await self._run.subscribe(STREAM, max_items=500)
            while page.items:
                self.text += "".join(item.payload.get("text", "") for item in page.items)
                self._next = page.next_offset
                page = await self._run.subscribe(STREAM, from_offset=self._next, max_items=500)
        except (RunNotFoundError, StreamNotFoundError):
            await self._append(STARTED)
        else:
            self.over = page.stream.status is not Status.OPEN
            self.error = page.stream.error_reason

    async def write(self, piece: str) -> None:
        """Append a piece; return when it is stored, and readers have it."""
        await self._append({"event": "piece", "text": piece})
        self.text += piece

    async def end(self) -> None:
        """Close the stream: readers are told that it is complete."""
        await self._run.close(STREAM, retention_seconds=DAY)

    async def fail(self, reason: str) -> None:
        """End the stream as failed: readers are told why."""
        ended = await self._run.error(STREAM, reason, retention_seconds=DAY)
        self.error = ended.error_reason

    async def _append(self, item: object) -> None:
        while True:
            try:
                await self._run.append(STREAM, [item], keys=[str(self._next)])
            except StreamFullError:
                # Ten thousand items that nobody has read. Whoever pays for the model may want to stop it here.
                logger.info("nobody reads: waiting")
                await asyncio.sleep(1)
            else:
                self._next += 1
                return
