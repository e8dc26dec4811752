"""``GET events``: a topic as Server-Sent Events, for as long as the client stays.

Once a browser has been told anything but 200 it never comes back by itself. So who is to come back is answered with
200 and a time to wait, and what can be told only by a status (a request that is wrong, a stream that is over) is final.
"""

import asyncio
import random

from tailrace import aio
from tailrace.errors import DurableStreamUnavailableError, StoreUnusableError
from tailrace.records import TopicCursor
from tailrace.server.call import Call
from tailrace.server.response import Response
from tailrace.sse import EventStream, Stop, wire
from tailrace.sse.trunks import Channel
from tailrace.tokens import Opened

HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    # Neither stored nor compressed on the way: both would hold events back.
    (b"cache-control", b"no-store, no-transform"),
    (b"content-encoding", b"identity"),
    # nginx buffers whole answers unless it is told.
    (b"x-accel-buffering", b"no"),
)

OVERLOAD_PAUSE = 5.0
"""Seconds, about, that a client stays away that was one too many."""


async def events(call: Call) -> Response | None:
    """Stream a topic's records from a start, or after the id that the client saw last."""
    query = call.request.only("start", "cursor", "encoding")
    text = call.request.choice("encoding", "text", "base64") == "text"
    # What the client saw last is newer than the address that it was given once.
    token = call.request.header(b"last-event-id") or query.get("cursor")
    opened = None if token is None else call.opened(token)
    if opened is not None and opened.terminal:
        return Response(204)
    streams = call.service.live
    if not streams.admits(call.principal):
        await _told(call, wire.later(OVERLOAD_PAUSE * random.uniform(0.5, 1.5)))
        return None
    settings = call.service.settings
    channel = Channel(call.name, call.tokens, text)
    stream = EventStream(
        call.service.trunks, channel, call.topic, call.send, heartbeat=settings.heartbeat, retry=settings.retry
    )
    with streams.entered(stream, call.principal):
        # Before the start is asked for: a client that vanishes meanwhile must not be waited for.
        gone = asyncio.ensure_future(call.request.disconnected())
        gone.add_done_callback(lambda _: stream.stop(Stop.GONE))
        try:
            cursor, subscription = await _start(call, query.get("start"), opened)
            await _begin(call)
            await stream.run(cursor, subscription)
        except StoreUnusableError:
            # Waiting does not help: it is told by its status.
            raise
        except DurableStreamUnavailableError:
            await _told(call, wire.later(OVERLOAD_PAUSE * random.uniform(0.5, 1.5)))
        finally:
            gone.cancel()
    return None


async def _start(call: Call, start: str | None, opened: Opened | None) -> tuple[TopicCursor, aio.Subscription | None]:
    """Return where the stream starts, and what reads from there if it had to be made to find that out."""
    if opened is not None:
        return opened.cursor, None
    if start == "tail":
        # One look at the store. Whoever else follows the topic reads for this one too.
        return await call.topic.checkpoint(), None
    subscription = await call.subscribe(start, None)
    return subscription.cursor, subscription


async def _begin(call: Call) -> None:
    await call.send({"type": "http.response.start", "status": 200, "headers": list(HEADERS)})


async def _told(call: Call, body: bytes) -> None:
    await _begin(call)
    await call.send({"type": "http.response.body", "body": body})
