"""``GET items``: a page of a stream; if there is nothing yet, the first items that come within some seconds."""

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any

from tailrace.server.problems import Problem
from tailrace.server.request import DisconnectedError
from tailrace.server.response import Response
from tailrace.server.workflow import answers
from tailrace.server.workflow.call import Call
from tailrace.server.workflow.integers import integer_in
from tailrace.sse import Stop
from tailrace.workflow.bounds import DEFAULT_PAGE_ITEMS, check_page
from tailrace.workflow.model import ItemPage


async def subscribe(call: Call) -> Response:
    """Answer with items from an offset on, inclusive."""
    stream, query = call.stream, call.request.query
    from_offset = integer_in(query, "from", 0)
    max_items = integer_in(query, "max_items", DEFAULT_PAGE_ITEMS)
    wait_seconds = integer_in(query, "wait_seconds", 0)
    check_page(from_offset, max_items, wait_seconds)
    read = partial(call.shared.service.subscribe_async, stream, from_offset=from_offset, max_items=max_items)
    page = await _page(call, read, min(wait_seconds, int(call.shared.core.settings.max_wait)))
    return answers.paged(stream.run, page)


async def _page(call: Call, read: "partial[Coroutine[Any, Any, ItemPage]]", wait: int) -> ItemPage:
    if not wait:
        with call.shared.waiting():
            return await read()
    live, principal = call.shared.core.live, call.principal
    if not live.admits(principal.name):
        raise Problem("overloaded", "there are as many streams and waiting reads as this server holds")
    waiting = _Waiting(asyncio.ensure_future(read(wait_seconds=wait)))
    # Counted and ended like a stream, which it would be if its client could: a server that ends must not wait for it.
    with live.entered(waiting, principal.name, expires_at=principal.expires_at):
        watching = asyncio.ensure_future(call.request.disconnected())
        watching.add_done_callback(lambda _: waiting.stop(Stop.GONE))
        try:
            return await waiting.reading
        except asyncio.CancelledError:
            if waiting.why is None:
                raise
        finally:
            watching.cancel()
    if waiting.why is Stop.GONE:
        raise DisconnectedError
    # It could not wait to the end: its client goes on from an answer with what there is, which may be nothing.
    return await read()


class _Waiting:
    """A read that waits, as something that can be ended."""

    def __init__(self, reading: "asyncio.Future[ItemPage]") -> None:
        self.reading = reading
        self.why: Stop | None = None

    def stop(self, why: Stop) -> None:
        """Let it end at once, if it has not ended."""
        if self.why is None and self.reading.cancel():
            self.why = why
